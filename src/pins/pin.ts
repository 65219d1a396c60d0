/** What is pinned: one thing that a backend offers, under the backend's own name, with its canonical value. */

import { escapedUnseen } from './quoted.ts';
import { canonicalText, type PinValue } from './value.ts';

export const pinKinds = ['instructions', 'prompt', 'template', 'tool'] as const;
export type PinKind = (typeof pinKinds)[number];

/** A thing by name. Instructions have an empty name. */
export interface PinnedThing {
  readonly backend: string;
  readonly kind: PinKind;
  readonly name: string;
}

export interface Pin extends PinnedThing {
  readonly hash: string;
  readonly value: PinValue;
}

/** SHA-256, in hexadecimal digits. */
export type PinDigest = (text: string) => string;

export function pinOf(thing: PinnedThing, value: PinValue, digest: PinDigest): Pin {
  const { backend, kind, name } = thing;
  return { backend, kind, name, hash: hashOf(value, digest), value };
}

export function hashOf(value: PinValue, digest: PinDigest): string {
  return `sha256:${digest(canonicalText(value))}`;
}

/** No two things have the same key: only the name can contain a space. */
export function keyOf({ backend, kind, name }: PinnedThing): string {
  return `${backend} ${kind} ${name}`;
}

/** A thing may have several pins. */
export function pinsByThing(pins: readonly Pin[]): ReadonlyMap<string, readonly Pin[]> {
  const found = new Map<string, Pin[]>();
  for (const pin of pins) {
    const others = found.get(keyOf(pin));
    if (others === undefined) found.set(keyOf(pin), [pin]);
    else others.push(pin);
  }
  return found;
}

/** For people. */
export function shownThing({ backend, kind, name }: PinnedThing): string {
  return kind === 'instructions'
    ? `the instructions of ${backend}`
    : `${kind} \`${escapedUnseen(name)}\` of ${backend}`;
}
