/**
 * The outline of a message: its members, and those of the few objects inside it that the gateway reads or changes
 * (`params`, `result`, `error`, and the `_meta` of the first two). Everything else is passed over as a value.
 * How values are passed over is what differs between the strict reader and the lenient one.
 */
import type { Failure } from '../errors.ts';
import type { Member, ObjectSpan } from './message.ts';
import { nameAt } from './names.ts';

/** Offset of the next byte that is not white space (RFC 8259, section 2), or the end. */
export function skipWhite(bytes: Uint8Array, at: number, end: number): number {
  let i = at;
  while (i < end) {
    const byte = bytes[i] as number;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
    i++;
  }
  return i;
}

/** `params`, `result` or `error`; where its value is an object, with the members of that, and of its `_meta`. */
export interface Body {
  readonly object: ObjectSpan | undefined;
  readonly meta: ObjectSpan | undefined;
}

/** Depth of the objects whose members are noted. */
const MESSAGE = 1;
const BODY = 2;
const META = 3;

export abstract class OutlineReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  /** Filled while reading, so that a failure half-way can still name the id. */
  readonly top: Member[] = [];

  /** The members that make it a message, where they are there. */
  jsonrpc: Member | undefined = undefined;
  id: Member | undefined = undefined;
  method: Member | undefined = undefined;
  params: Body | undefined = undefined;
  result: Body | undefined = undefined;
  error: Body | undefined = undefined;
  /** One of them that is there twice. */
  twin: string | undefined = undefined;
  /** The `_meta` of the body that is being read. */
  private meta: ObjectSpan | undefined = undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.end = bytes.byteLength;
  }

  /** An object whose names matter opens at `at`. */
  abstract open(at: number, depth: number): void;
  /** Passes over the name whose opening quote is at `at`; gives the offset after the closing one. */
  abstract name(at: number, depth: number): number;
  /** Passes over the value that begins at `at`, inside of `depth` open objects. */
  abstract value(at: number, depth: number): number;
  /** What to throw where the bytes are no JSON. */
  abstract broken(at: number): Failure;

  /** Reads the object that opens at `at` as the message; gives the offset after it. */
  message(at: number): number {
    return this.object(at, MESSAGE, this.top);
  }

  /** Reads the object that opens at `at` for its members alone. */
  members(at: number): ObjectSpan {
    const members: Member[] = [];
    return { start: at, end: this.object(at, META, members), members };
  }

  private object(at: number, depth: number, members: Member[]): number {
    const { bytes, end } = this;
    this.open(at, depth);
    let i = skipWhite(bytes, at + 1, end);
    if (i < end && bytes[i] === 0x7d /* } */) return i + 1;
    for (;;) {
      if (i >= end || bytes[i] !== 0x22 /* " */) throw this.broken(i);
      const keyStart = i;
      i = this.name(keyStart, depth);
      const key = nameAt(bytes, keyStart + 1, i - 1);
      i = skipWhite(bytes, i, end);
      if (i >= end || bytes[i] !== 0x3a /* : */) throw this.broken(i);
      const start = skipWhite(bytes, i + 1, end);
      let inner: ObjectSpan | undefined;
      if (depth < META && start < end && bytes[start] === 0x7b /* { */ && isNoted(key, depth)) {
        const innerMembers: Member[] = [];
        i = this.object(start, depth + 1, innerMembers);
        inner = { start, end: i, members: innerMembers };
      } else i = this.value(start, depth);
      const member = { key, keyStart, start, end: i };
      members.push(member);
      if (depth === MESSAGE) this.place(member, inner);
      else if (inner !== undefined) this.meta = inner;
      i = skipWhite(bytes, i, end);
      const byte = i < end ? bytes[i] : -1;
      if (byte === 0x7d /* } */) return i + 1;
      if (byte !== 0x2c /* , */) throw this.broken(i);
      i = skipWhite(bytes, i + 1, end);
    }
  }

  private place(member: Member, object: ObjectSpan | undefined): void {
    switch (member.key) {
      case 'jsonrpc':
        if (this.jsonrpc !== undefined) this.noteTwin(member.key);
        this.jsonrpc = member;
        break;
      case 'id':
        if (this.id !== undefined) this.noteTwin(member.key);
        this.id = member;
        break;
      case 'method':
        if (this.method !== undefined) this.noteTwin(member.key);
        this.method = member;
        break;
      case 'params':
        if (this.params !== undefined) this.noteTwin(member.key);
        this.params = this.takeBody(object);
        break;
      case 'result':
        if (this.result !== undefined) this.noteTwin(member.key);
        this.result = this.takeBody(object);
        break;
      case 'error':
        if (this.error !== undefined) this.noteTwin(member.key);
        this.error = this.takeBody(object);
        break;
    }
  }

  /** Two ids matter most: then none can be echoed. */
  private noteTwin(key: string): void {
    if (this.twin !== 'id') this.twin = key;
  }

  private takeBody(object: ObjectSpan | undefined): Body {
    const { meta } = this;
    this.meta = undefined;
    return { object, meta };
  }
}

function isNoted(key: string, depth: number): boolean {
  return depth === BODY ? key === '_meta' : key === 'params' || key === 'result' || key === 'error';
}
