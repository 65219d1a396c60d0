/**
 * The outline of a message: its members, and those of the few objects inside it that the gateway reads or changes
 * (`params`, `result`, `error`, and the `_meta` of the first two). Everything else is passed over as a value.
 * How values are passed over is what differs between the strict reader and the lenient one.
 */
import type { Failure } from '../errors.ts';
import type { Member, ObjectSpan } from './message.ts';
import { nameAt } from './names.ts';

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

type Role = 'top' | 'params' | 'result' | 'error' | 'paramsMeta' | 'resultMeta';

/** Offset of the next byte that is not white space (RFC 8259, section 2), or the end. */
export function skipWhite(bytes: Uint8Array, at: number, end: number): number {
  let i = at;
  while (i < end) {
    const byte = bytes[i] as number;
    if (byte > SPACE || (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
    i++;
  }
  return i;
}

export abstract class OutlineReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  /** Filled while reading, so that a failure half-way can still name the id. */
  readonly top: Member[] = [];
  params: ObjectSpan | undefined = undefined;
  result: ObjectSpan | undefined = undefined;
  error: ObjectSpan | undefined = undefined;
  paramsMeta: ObjectSpan | undefined = undefined;
  resultMeta: ObjectSpan | undefined = undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.end = bytes.byteLength;
  }

  /** An object opens at `at`; the message itself is at depth 1. */
  abstract open(at: number, depth: number): void;
  /** Passes over the name whose opening quote is at `at`; gives the offset after the closing one. */
  abstract name(at: number, depth: number): number;
  /** Passes over the value that begins at `at`, inside of `depth` open objects. */
  abstract value(at: number, depth: number): number;
  /** What to throw where the bytes are no JSON. */
  abstract broken(at: number): Failure;

  /** Reads the object that opens at `at`, as the message. Gives the offset after it. */
  message(at: number): number {
    return this.object(at, 1, 'top', this.top);
  }

  private object(at: number, depth: number, role: Role, members: Member[]): number {
    const { bytes, end } = this;
    this.open(at, depth);
    let i = skipWhite(bytes, at + 1, end);
    if (i < end && bytes[i] === CLOSE_BRACE) return i + 1;
    for (;;) {
      if (i >= end || bytes[i] !== QUOTE) throw this.broken(i);
      const keyStart = i;
      i = this.name(keyStart, depth);
      const key = nameAt(bytes, keyStart + 1, i - 1);
      i = skipWhite(bytes, i, end);
      if (i >= end || bytes[i] !== COLON) throw this.broken(i);
      const start = skipWhite(bytes, i + 1, end);
      i = this.recorded(start, depth, role, key) ?? this.value(start, depth);
      members.push({ key, keyStart, start, end: i });
      i = skipWhite(bytes, i, end);
      const byte = i < end ? bytes[i] : -1;
      if (byte === CLOSE_BRACE) return i + 1;
      if (byte !== COMMA) throw this.broken(i);
      i = skipWhite(bytes, i + 1, end);
    }
  }

  /** Reads the value where it is an object whose members are wanted. */
  private recorded(start: number, depth: number, role: Role, key: string): number | undefined {
    const child = childRole(role, key);
    if (child === undefined || start >= this.end || this.bytes[start] !== OPEN_BRACE) return undefined;
    const members: Member[] = [];
    const end = this.object(start, depth + 1, child, members);
    this[child] = { start, end, members };
    return end;
  }
}

function childRole(role: Role, key: string): Exclude<Role, 'top'> | undefined {
  if (role === 'top') return key === 'params' || key === 'result' || key === 'error' ? key : undefined;
  if (key !== '_meta') return undefined;
  return role === 'params' ? 'paramsMeta' : role === 'result' ? 'resultMeta' : undefined;
}
