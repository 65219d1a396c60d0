/**
 * The outline of a message: its members, and those of the few objects inside it that the gateway reads or changes
 * (`params`, `result`, `error`, and the `_meta` of the first two). Everything else is passed over as a value.
 * How values are passed over is what differs between the strict reader and the lenient one.
 */
import type { Failure } from '../errors/failure.ts';
import { type Folds, takenFor } from './fold.ts';
import type { Member, ObjectSpan, Span } from './message.ts';
import { decodedAt, wordAt } from './names.ts';
import { folds, type VocabularyPlace } from './vocabulary.ts';

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
  readonly span: Span;
  readonly object: ObjectSpan | undefined;
  readonly meta: ObjectSpan | undefined;
}

/** Depth of the objects whose members are noted. */
const MESSAGE = 1;
const BODY = 2;
const META = 3;

/**
 * Members of one such object that are noted. Methods have a handful, and vendors a few in `_meta`; noting one costs far more
 * than passing over it.
 */
export const NOTED_MEMBERS = 1024;
/** Of their names together: each is decoded and kept. */
export const NOTED_NAME_BYTES = 64 * 1024;

/** A member whose name some readers take for a word of the protocol. */
export interface Alike {
  readonly name: string;
  readonly word: string;
  /** Of the opening quote of its name. */
  readonly at: number;
}

export abstract class OutlineReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  /** Whether `params`, `result` and `error` have the members that MCP gives them, and are looked into. */
  readonly isMcp: boolean;
  /** How many members are noted of one object. */
  private readonly most: number;

  /** The members that make it a message, where they are there. Set while reading: a failure half-way can still name the id. */
  jsonrpc: Member | undefined = undefined;
  id: Member | undefined = undefined;
  method: Member | undefined = undefined;
  params: Body | undefined = undefined;
  result: Body | undefined = undefined;
  error: Body | undefined = undefined;
  /** One of them that is there twice. */
  twin: string | undefined = undefined;
  /** The first that was met, of the message itself and of what is in it. */
  alike: Alike | undefined = undefined;
  alikeInside: Alike | undefined = undefined;
  /** The `_meta` of the body that is being read. */
  private meta: ObjectSpan | undefined = undefined;

  constructor(bytes: Uint8Array, isMcp: boolean, most: number) {
    this.bytes = bytes;
    this.end = bytes.byteLength;
    this.isMcp = isMcp;
    this.most = most;
  }

  /** An object whose names matter opens at `at`. */
  abstract open(at: number, depth: number): void;
  /** It is done, and had at least one member. */
  abstract close(depth: number): void;
  /** Passes over the name whose opening quote is at `at`; gives the offset after the closing one. */
  abstract name(at: number): number;
  /** Passes over the value that begins at `at`, inside of `depth` open objects. */
  abstract value(at: number, depth: number): number;
  /** What to throw where the bytes are no JSON. */
  abstract broken(at: number): Failure;
  /** What to throw where an object has more members than are noted. */
  abstract crowded(at: number): Failure;

  /** Reads the object that opens at `at` as the message; gives the offset after it. */
  message(at: number): number {
    return this.object(at, MESSAGE, undefined, folds.message);
  }

  /** Reads the object that opens at `at` for its members alone. */
  members(at: number): ObjectSpan {
    const members: Member[] = [];
    return { start: at, end: this.object(at, META, members, undefined), members };
  }

  /** Of the message itself no members are kept but those that make it one. */
  private object(at: number, depth: number, members: Member[] | undefined, known: Folds | undefined): number {
    const { bytes, end } = this;
    this.open(at, depth);
    let i = skipWhite(bytes, at + 1, end);
    if (i < end && bytes[i] === 0x7d /* } */) return i + 1;
    let left = this.most;
    let nameBytes = this.most * (NOTED_NAME_BYTES / NOTED_MEMBERS);
    for (;;) {
      if (i >= end || bytes[i] !== 0x22 /* " */) throw this.broken(i);
      if (left-- === 0) throw this.crowded(i);
      const keyStart = i;
      i = this.name(keyStart);
      nameBytes -= i - keyStart;
      if (nameBytes < 0) throw this.crowded(keyStart);
      const word = wordAt(bytes, keyStart + 1, i - 1);
      const key = word ?? decodedAt(bytes, keyStart + 1, i - 1);
      if (word === undefined && known !== undefined) this.compare(key, keyStart, depth, known);
      i = skipWhite(bytes, i, end);
      if (i >= end || bytes[i] !== 0x3a /* : */) throw this.broken(i);
      const start = skipWhite(bytes, i + 1, end);
      let inner: ObjectSpan | undefined;
      const place = depth < META && start < end && bytes[start] === 0x7b /* { */ ? this.placeOf(key, depth) : undefined;
      if (place !== undefined) {
        const innerMembers: Member[] = [];
        i = this.object(start, depth + 1, innerMembers, folds[place]);
        inner = { start, end: i, members: innerMembers };
      } else i = this.value(start, depth);
      const member = { key, keyStart, start, end: i };
      if (members === undefined) this.place(member, inner);
      else {
        members.push(member);
        if (inner !== undefined) this.meta = inner;
      }
      i = skipWhite(bytes, i, end);
      const byte = i < end ? bytes[i] : -1;
      if (byte === 0x7d /* } */) {
        this.close(depth);
        return i + 1;
      }
      if (byte !== 0x2c /* , */) throw this.broken(i);
      i = skipWhite(bytes, i + 1, end);
    }
  }

  /** Which object that is, where its members are noted. */
  private placeOf(key: string, depth: number): VocabularyPlace | undefined {
    if (!this.isMcp) return undefined;
    if (depth === BODY) return key === '_meta' ? 'meta' : undefined;
    return key === 'params' || key === 'result' || key === 'error' ? key : undefined;
  }

  private compare(name: string, at: number, depth: number, known: Folds): void {
    const word = takenFor(known, name);
    if (word === undefined) return;
    if (depth === MESSAGE) this.alike ??= { name, word, at };
    else this.alikeInside ??= { name, word, at };
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
        this.params = this.takeBody(member, object);
        break;
      case 'result':
        if (this.result !== undefined) this.noteTwin(member.key);
        this.result = this.takeBody(member, object);
        break;
      case 'error':
        if (this.error !== undefined) this.noteTwin(member.key);
        this.error = this.takeBody(member, object);
        break;
    }
  }

  /** Two ids matter most: then none can be echoed. */
  private noteTwin(key: string): void {
    if (this.twin !== 'id') this.twin = key;
  }

  private takeBody(span: Span, object: ObjectSpan | undefined): Body {
    const { meta } = this;
    this.meta = undefined;
    return { span, object, meta };
  }
}
