/** Canonical texts: the same for equal values. */

import type { ObjectSpan, Span } from './message.ts';
import { elementsAt, membersAt } from './skim.ts';
import { stringAt, textAt } from './values.ts';

/** Of a parsed value: members sorted, spelling normalised. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`);
  return `{${members.join(',')}}`;
}

/**
 * The same for a value of a message that was read strictly, so that its depth is bounded. Numbers keep their spelling,
 * since a backend may distinguish numbers that are equal to us (`1e400` is not `null`, 9007199254740993 not ...992).
 */
export function canonicalAt(bytes: Uint8Array, span: Span): string {
  const elements = elementsAt(bytes, span);
  if (elements !== undefined) return `[${elements.map((element) => canonicalAt(bytes, element)).join(',')}]`;
  const object = membersAt(bytes, span);
  if (object !== undefined) return canonicalMembers(bytes, object);
  const text = stringAt(bytes, span);
  return text === undefined ? textAt(bytes, span) : JSON.stringify(text);
}

/** For an object, without the members that may differ. Binds a `requestState` to the request that it was issued for. */
export function canonicalMembers(bytes: Uint8Array, object: ObjectSpan, without?: ReadonlySet<string>): string {
  const members = object.members
    .filter(({ key }) => without?.has(key) !== true)
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((member) => `${JSON.stringify(member.key)}:${canonicalAt(bytes, member)}`);
  return `{${members.join(',')}}`;
}
