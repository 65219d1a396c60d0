/**
 * A JSON value in canonical form: members sorted, strings unescaped, numbers as they are spelled. RFC 8785 writes
 * numbers as doubles, which would hide a change from 9007199254740993 to 9007199254740992.
 */
import { quoted } from './quoted.ts';

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

/**
 * The same value with a line for each member and element, for people and for line-by-line comparison. What cannot be
 * seen is escaped.
 */
export function prettyText(value: PinValue, indent = ''): string {
  const inner = `${indent}  `;
  if (isMembers(value)) {
    const lines = [...value].map(([key, one]) => `${inner}${quoted(key)}: ${prettyText(one, inner)}`);
    return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent}}`;
  }
  if (Array.isArray(value)) {
    const lines = value.map((one) => `${inner}${prettyText(one, inner)}`);
    return lines.length === 0 ? '[]' : `[\n${lines.join(',\n')}\n${indent}]`;
  }
  return typeof value === 'string' ? quoted(value) : canonicalText(value);
}
