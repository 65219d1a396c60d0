/**
 * The outline of a message: its members, and those of the few objects inside it that the gateway reads or changes
 * (`params`, `result`, `error`, and the `_meta` of the first two). All other values are skipped. The strict and the
 * lenient reader differ in how they skip values.
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

/** `params`, `result` or `error`. If the value is an object, with its members and those of its `_meta`. */
export interface Body {
  readonly span: Span;
  readonly object: ObjectSpan | undefined;
  readonly meta: ObjectSpan | undefined;
}

/** Depth of the objects whose members are recorded. */
const MESSAGE = 1;
const BODY = 2;
const META = 3;

/**
 * The most members recorded per object. Methods have a handful, and vendors add a few in `_meta`. Recording a member
 * costs far more than skipping it.
 */
export const NOTED_MEMBERS = 1024;
/** The most bytes of their names together: each name is decoded and kept. */
export const NOTED_NAME_BYTES = 64 * 1024;

/** A member whose name a case-insensitive reader takes for a word of the protocol. */
export interface Alike {
  readonly name: string;
  readonly word: string;
  /** Offset of the opening quote of its name. */
  readonly at: number;
}

export abstract class OutlineReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  /** Whether `params`, `result` and `error` are MCP's, so that their members are recorded. */
  readonly isMcp: boolean;
  /** The most members recorded per object. */
  private readonly most: number;

  /** The members of a JSON-RPC message. Set while reading, so that a failure half-way can still echo the id. */
  jsonrpc: Member | undefined = undefined;
  id: Member | undefined = undefined;
  method: Member | undefined = undefined;
  params: Body | undefined = undefined;
  result: Body | undefined = undefined;
  error: Body | undefined = undefined;
  /** The name of one of them that occurs twice. */
  twin: string | undefined = undefined;
  /** The first such member, at the top level and inside. */
  alike: Alike | undefined = undefined;
  alikeInside: Alike | undefined = undefined;
  /** The `_meta` of the body being read. */
  private meta: ObjectSpan | undefined = undefined;

  constructor(bytes: Uint8Array, isMcp: boolean, most: number) {
    this.bytes = bytes;
    this.end = bytes.byteLength;
    this.isMcp = isMcp;
    this.most = most;
  }

  /** An object whose names are compared opens at `at`. */
  abstract open(at: number, depth: number): void;
  /** That object closes, with at least one member. */
  abstract close(depth: number): void;
  /** Skips the name whose opening quote is at `at`; returns the offset after the closing quote. */
  abstract name(at: number): number;
  /** Skips the value that begins at `at`, inside `depth` open objects. */
  abstract value(at: number, depth: number): number;
  /** The failure for bytes that are not JSON. */
  abstract broken(at: number): Failure;
  /** The failure for an object with too many members. */
  abstract crowded(at: number): Failure;

  /** Reads the object that opens at `at` as the message; returns the offset after it. */
  message(at: number): number {
    return this.object(at, MESSAGE, undefined, folds.message);
  }

  /** Reads only the members of the object that opens at `at`. */
  members(at: number): ObjectSpan {
    const members: Member[] = [];
    return { start: at, end: this.object(at, META, members, undefined), members };
  }

  /** Of the top level, only the members of JSON-RPC are kept. */
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

  /** Which of the recorded objects this is, if any. */
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

  /** A duplicate id takes precedence: then no id can be echoed. */
  private noteTwin(key: string): void {
    if (this.twin !== 'id') this.twin = key;
  }

  private takeBody(span: Span, object: ObjectSpan | undefined): Body {
    const { meta } = this;
    this.meta = undefined;
    return { span, object, meta };
  }
}
