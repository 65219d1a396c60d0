/**
 * A JSON value in canonical form: members sorted, strings unescaped, numbers as they are spelled. RFC 8785 writes
 * numbers as doubles, which would hide a change from 9007199254740993 to 9007199254740992.
 */
import type { Span } from '../wire/message.ts';
import { elementsAt, membersAt } from '../wire/skim.ts';
import { stringAt, textAt } from '../wire/values.ts';

/** A number, as it is spelled. */
export class Numeral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type PinMembers = ReadonlyMap<string, PinValue>;
export type PinValue = string | boolean | null | Numeral | readonly PinValue[] | PinMembers;

/** The value cannot be pinned; the message says why. */
export class Unpinnable extends Error {
  override readonly name = 'Unpinnable';
}

/** Larger than the definition of any tool that a model could use. */
export const ENTRY_BYTES = 256 * 1024;
/** Each level is read again for the level above it, so depth is work. */
const DEPTH = 64;
const numeral = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const literals: ReadonlyMap<string, PinValue> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** Throws an `Unpinnable`, and nothing else. */
export function readPinValue(bytes: Uint8Array, span: Span = { start: 0, end: bytes.byteLength }): PinValue {
  if (span.end - span.start > ENTRY_BYTES) throw new Unpinnable(`it has more than ${ENTRY_BYTES} bytes`);
  try {
    return valueIn(bytes, span, 0);
  } catch (error) {
    throw error instanceof Unpinnable ? error : new Unpinnable('it is not JSON');
  }
}

function valueIn(bytes: Uint8Array, span: Span, depth: number): PinValue {
  if (depth > DEPTH) throw new Unpinnable(`it is nested more than ${DEPTH} levels deep`);
  const elements = elementsAt(bytes, span);
  if (elements !== undefined) return elements.map((element) => valueIn(bytes, element, depth + 1));
  const object = membersAt(bytes, span);
  if (object !== undefined) {
    const sorted = [...object.members].sort((a, b) => (a.key < b.key ? -1 : 1));
    const members = new Map(sorted.map((member) => [member.key, valueIn(bytes, member, depth + 1)] as const));
    // Two readers could use different ones.
    if (members.size < sorted.length) throw new Unpinnable('a member is there twice');
    return members;
  }
  const string = stringAt(bytes, span);
  if (string !== undefined) return string;
  const text = textAt(bytes, span);
  const literal = literals.get(text);
  if (literal !== undefined) return literal;
  if (numeral.test(text)) return new Numeral(text);
  throw new Unpinnable('it is not JSON');
}

export function isMembers(value: PinValue | undefined): value is PinMembers {
  return value instanceof Map;
}

/** On one line, without spaces: what hashes are made of. */
export function canonicalText(value: PinValue): string {
  if (value instanceof Numeral) return value.text;
  if (isMembers(value))
    return `{${[...value].map(([key, one]) => `${JSON.stringify(key)}:${canonicalText(one)}`).join(',')}}`;
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  return JSON.stringify(value);
}

/** The same value with a line for each member and element, for people and for line-by-line comparison. */
export function prettyText(value: PinValue, indent = ''): string {
  const inner = `${indent}  `;
  if (isMembers(value)) {
    const lines = [...value].map(([key, one]) => `${inner}${JSON.stringify(key)}: ${prettyText(one, inner)}`);
    return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent}}`;
  }
  if (Array.isArray(value)) {
    const lines = value.map((one) => `${inner}${prettyText(one, inner)}`);
    return lines.length === 0 ? '[]' : `[\n${lines.join(',\n')}\n${indent}]`;
  }
  return canonicalText(value);
}
