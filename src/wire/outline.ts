/**
 * The outline of a message: its members, and those of the few objects inside it that the gateway reads or changes
 * (`params`, `result`, `error`, and the `_meta` of the first two). All other values are skipped. The strict and the
 * lenient reader differ in how they skip values. `toMessage` makes a message of an outline.
 */
import { Failure } from '../errors/failure.ts';
import { type Folds, takenFor } from './fold.ts';
import type { Member, Message, ObjectSpan, Span } from './message.ts';
import { idAt, isInteger, member, nameAt, stringAt, wordAt } from './values.ts';
import { folds } from './vocabulary.ts';

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

/**
 * The index of the byte that holds the lowest set bit. Runs of bytes are skipped four at a time: a test on a 32-bit
 * word finds whether one of its bytes ends the run, and this finds which. Several times faster than byte by byte,
 * mostly because there are fewer branches to predict.
 */
export function lowest(bits: number): number {
  return (31 - Math.clz32(bits & -bits)) >> 3;
}

/** `params`, `result` or `error`. If the value is an object, with its members. */
type Body = ObjectSpan | (Span & { readonly members: undefined });

/** Depth of the message itself, and of the deepest objects whose members are recorded. */
const MESSAGE = 1;
const META = 3;

/**
 * The objects whose members are recorded, by the depth of the object that they are in, with the words they may have.
 */
const recorded: readonly (ReadonlyMap<string, Folds> | undefined)[] = [
  undefined,
  new Map([
    ['params', folds.params],
    ['result', folds.result],
    ['error', folds.error],
  ]),
  new Map([['_meta', folds.meta]]),
];

/**
 * The most members recorded per object. Methods have a handful, and vendors add a few in `_meta`. Recording a member
 * costs far more than skipping it.
 */
export const NOTED_MEMBERS = 1024;
/** The most bytes of their names together: each name is decoded and kept. */
const NOTED_NAME_BYTES = 64 * 1024;

/** A member whose name a case-insensitive reader takes for a word of the protocol. */
export interface Alike {
  readonly name: string;
  readonly word: string;
  /** Offset of the opening quote of its name. */
  readonly at: number;
}

const nothing = new Uint8Array(0);
const viewOfNothing = new DataView(nothing.buffer);

/** Reading is synchronous, so one reader of each kind serves all messages: `begin`, read, `release`. */
export abstract class OutlineReader {
  bytes: Uint8Array = nothing;
  protected view: DataView = viewOfNothing;
  protected end = 0;
  /** The most members recorded per object. */
  private most = 0;
  /** Whether `params`, `result` and `error` are MCP's, so that their members are recorded. */
  private isMcp = false;

  /** The members of a JSON-RPC message. Set while reading, so that a failure half-way can still echo the id. */
  jsonrpc: Span | undefined = undefined;
  id: Span | undefined = undefined;
  method: Span | undefined = undefined;
  params: Body | undefined = undefined;
  result: Body | undefined = undefined;
  error: Body | undefined = undefined;
  /** The name of one of them that occurs twice. */
  twin: string | undefined = undefined;
  /** The first such member, at the top level and inside. */
  protected alike: Alike | undefined = undefined;
  protected alikeInside: Alike | undefined = undefined;
  /** The `_meta` of the body being read. */
  private meta: ObjectSpan | undefined = undefined;
  paramsMeta: ObjectSpan | undefined = undefined;
  resultMeta: ObjectSpan | undefined = undefined;

  /** Whether the message is a client's. Its errors must then have an integer code and a message. */
  abstract readonly isStrict: boolean;
  /** Skips the name whose opening quote is at `at`; returns the offset after the closing quote. */
  protected abstract name(at: number): number;
  /** Skips the value that begins at `at`, inside `depth` open objects. */
  protected abstract value(at: number, depth: number): number;
  /** The failure for bytes that are not JSON. */
  abstract broken(at: number): Failure;
  /** The failure for an object with too many members. */
  protected abstract crowded(at: number): Failure;

  begin(bytes: Uint8Array, isMcp = true, most = NOTED_MEMBERS): void {
    if (this.bytes !== nothing) throw new Failure('internal_error', { cause: new Error('a read inside another one') });
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.byteLength;
    this.isMcp = isMcp;
    this.most = most;
    // Last: a reader that has bytes is in use until `release`.
    this.bytes = bytes;
  }

  /** To be called after every read, whatever came of it: the reader must not keep the message in memory. */
  release(): void {
    this.bytes = nothing;
    this.view = viewOfNothing;
    this.jsonrpc = this.id = this.method = undefined;
    this.params = this.result = this.error = undefined;
    this.alike = this.alikeInside = undefined;
    this.twin = undefined;
    this.meta = undefined;
    this.paramsMeta = undefined;
    this.resultMeta = undefined;
  }

  /** Reads the document that begins at `at`: a message if it is an object. Only white space may follow it. */
  document(at: number): void {
    const { bytes, end } = this;
    const isObject = bytes[at] === 0x7b; /* { */
    const after = skipWhite(
      bytes,
      isObject ? this.object(at, MESSAGE, undefined, folds.message) : this.value(at, 0),
      end,
    );
    if (after < end) throw this.broken(after);
  }

  /** Reads only the members of the object that opens at `at`. */
  membersOf(at: number): ObjectSpan {
    const members: Member[] = [];
    return { start: at, end: this.object(at, META, members, undefined), members };
  }

  /** `members` is undefined for the message itself: of its members, only those of JSON-RPC are kept. */
  protected object(at: number, depth: number, members: Member[] | undefined, known: Folds | undefined): number {
    const { bytes, end } = this;
    let i = skipWhite(bytes, at + 1, end);
    if (i < end && bytes[i] === 0x7d /* } */) return i + 1;
    const inside = this.isMcp ? recorded[depth] : undefined;
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
      const key = word ?? nameAt(bytes, keyStart + 1, i - 1);
      if (word === undefined && known !== undefined) this.compare(key, keyStart, depth, known);
      i = skipWhite(bytes, i, end);
      if (i >= end || bytes[i] !== 0x3a /* : */) throw this.broken(i);
      const start = skipWhite(bytes, i + 1, end);
      const words = start < end && bytes[start] === 0x7b /* { */ ? inside?.get(key) : undefined;
      const inner: Member[] | undefined = words && [];
      i = words === undefined ? this.value(start, depth) : this.object(start, depth + 1, inner, words);
      if (members === undefined) this.place(key, start, i, inner);
      else {
        members.push({ key, keyStart, start, end: i });
        if (inner !== undefined) this.meta = { start, end: i, members: inner };
      }
      i = skipWhite(bytes, i, end);
      const byte = i < end ? bytes[i] : -1;
      if (byte === 0x7d /* } */) return i + 1;
      if (byte !== 0x2c /* , */) throw this.broken(i);
      i = skipWhite(bytes, i + 1, end);
    }
  }

  private compare(name: string, at: number, depth: number, known: Folds): void {
    const word = takenFor(known, name);
    if (word === undefined) return;
    if (depth === MESSAGE) this.alike ??= { name, word, at };
    else this.alikeInside ??= { name, word, at };
  }

  private place(key: string, start: number, end: number, members: Member[] | undefined): void {
    switch (key) {
      case 'jsonrpc':
      case 'id':
      case 'method':
        if (this[key] !== undefined) this.noteTwin(key);
        this[key] = { start, end };
        break;
      case 'params':
      case 'result':
      case 'error':
        if (this[key] !== undefined) this.noteTwin(key);
        this[key] = members === undefined ? { start, end, members } : { start, end, members };
        if (key === 'params') this.paramsMeta = this.meta;
        else if (key === 'result') this.resultMeta = this.meta;
        this.meta = undefined;
        break;
    }
  }

  /** A duplicate id takes precedence: then no id can be echoed. */
  private noteTwin(key: string): void {
    if (this.twin !== 'id') this.twin = key;
  }
}

const BAD_ID = 'id must be a string or an integer';

/** Checks what makes a JSON object a JSON-RPC 2.0 message in MCP. Throws a `Failure`. */
export function toMessage(outline: OutlineReader): Message {
  const { bytes, jsonrpc, method, params, result, error } = outline;
  if (outline.twin !== undefined) throw refusal(outline, `More than one ${outline.twin}`);
  if (jsonrpc === undefined || stringAt(bytes, jsonrpc) !== '2.0') throw refusal(outline, 'jsonrpc must be "2.0"');
  const id = outline.id === undefined ? undefined : idAt(bytes, outline.id);

  if (method !== undefined) {
    if (result !== undefined || error !== undefined) throw refusal(outline, 'Both a method and a result or error');
    const name = bytes[method.start] === 0x22 /* " */ ? nameAt(bytes, method.start + 1, method.end - 1) : '';
    if (name === '') throw refusal(outline, 'method must be a string');
    if (params !== undefined && params.members === undefined) throw refusal(outline, 'params must be an object');
    const meta = outline.paramsMeta;
    if (outline.id === undefined) return { kind: 'notification', bytes, method: name, params, meta };
    if (id === undefined) throw refusal(outline, BAD_ID);
    return { kind: 'request', bytes, id, method: name, params, meta };
  }

  if (result !== undefined) {
    if (error !== undefined) throw refusal(outline, 'Both result and error');
    if (result.members === undefined) throw refusal(outline, 'result must be an object');
    if (id === undefined) throw refusal(outline, BAD_ID);
    return { kind: 'result', bytes, id, result, meta: outline.resultMeta };
  }

  if (error === undefined) throw refusal(outline, 'Neither method nor result nor error');
  if (error.members === undefined) throw refusal(outline, 'error must be an object');
  if (outline.isStrict) checkError(outline, error);
  if (id === undefined && !isNullOrAbsent(bytes, outline.id)) throw refusal(outline, BAD_ID);
  return { kind: 'error', bytes, id, error };
}

function refusal(outline: OutlineReader, message: string): Failure {
  const id = echoedId(outline);
  const reason = outline.isStrict ? 'invalid_request' : 'backend_invalid';
  return new Failure(reason, id === undefined ? { message } : { message, id });
}

/**
 * The id to echo in an error about this message: a request's own, if there is exactly one. The id of a response is one
 * of ours, and an error with that id would look like a response to our request.
 */
export function echoedId({ bytes, id, method, result, error, twin }: OutlineReader): string | undefined {
  const isResponse = method === undefined && (result !== undefined || error !== undefined);
  return id === undefined || isResponse || twin === 'id' ? undefined : idAt(bytes, id)?.raw;
}

function checkError(outline: OutlineReader, error: ObjectSpan): void {
  const code = member(error, 'code');
  const message = member(error, 'message');
  if (code === undefined || !isInteger(outline.bytes, code)) throw refusal(outline, 'error.code must be an integer');
  if (message === undefined || outline.bytes[message.start] !== 0x22 /* " */) {
    throw refusal(outline, 'error.message must be a string');
  }
}

/** Up to 2025-11-25, an error may carry `id: null` if the request's id could not be read. */
function isNullOrAbsent(bytes: Uint8Array, id: Span | undefined): boolean {
  return id === undefined || (bytes[id.start] === 0x6e /* n */ && id.end - id.start === 4);
}
