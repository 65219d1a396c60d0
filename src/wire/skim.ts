/**
 * The lenient reader, for backend output. Results are passed on unread: only the envelope is checked, and that strings
 * end and brackets match. In every valid document it finds the same spans as the strict reader.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import { toMessage } from './envelope.ts';
import type { Batch, Id, Message, ObjectSpan, Span } from './message.ts';
import { NOTED_MEMBERS, OutlineReader, skipWhite } from './outline.ts';
import { asBuffer, idAt } from './values.ts';
import { skipToQuote, skipToStructure } from './words.ts';

/** Deeper than any real result, and less than what breaks the recursive parsers of clients. */
const DEPTH = 2048;
/** A string longer than this is searched natively: the call costs about as much as scanning this many bytes. */
const SHORT_TEXT = 64;

/** The bytes of numbers and literals. */
const scalarByte = new Uint8Array(256);
for (const character of '+-.0123456789abcdefghijklmnopqrstuvwxyzE') scalarByte[character.charCodeAt(0)] = 1;

const rules = { reason: 'backend_invalid', errorMembers: false } as const;

/** Skimming is synchronous, so one stack serves all messages: the opening brackets by depth. */
const brackets = new Uint8Array(DEPTH + 1);

export function skimMessage(bytes: Uint8Array): Message | Batch {
  const end = bytes.byteLength;
  const start = skipWhite(bytes, 0, end);
  if (start < end && bytes[start] === 0x5b /* [ */) return { kind: 'batch', bytes };
  const reader = new LenientReader(bytes, rules.reason, NOTED_MEMBERS);
  if (start >= end || bytes[start] !== 0x7b /* { */) throw reader.broken(start);
  const after = skipWhite(bytes, reader.message(start), end);
  if (after < end) throw reader.broken(after);
  return toMessage(reader, rules);
}

/**
 * The id of a response that cannot be read otherwise: it is nested too deeply, or its result is invalid. Undefined if
 * no id is found, or the bytes may not be a response.
 */
export function answerIdIn(bytes: Uint8Array): Id | undefined {
  const reader = new LenientReader(bytes, rules.reason, NOTED_MEMBERS, true);
  const start = skipWhite(bytes, 0, bytes.byteLength);
  try {
    if (bytes[start] === 0x7b /* { */) reader.message(start);
  } catch {
    // The members read before the error are used.
  }
  const { id, method, twin } = reader;
  return id === undefined || method !== undefined || twin !== undefined ? undefined : idAt(bytes, id);
}

/** The members of an object deeper in a message than the outline; undefined if the value is not an object. */
export function membersAt(bytes: Uint8Array, span: Span, most = Number.POSITIVE_INFINITY): ObjectSpan | undefined {
  if (bytes[span.start] !== 0x7b /* { */) return undefined;
  return new LenientReader(bytes, rules.reason, most).members(span.start);
}

/** Offset after the value that begins at `at`; `reason` is for the failure if there is none. */
export function passOver(bytes: Uint8Array, at: number, reason: Reason): number {
  return new LenientReader(bytes, reason, NOTED_MEMBERS).value(at);
}

class LenientReader extends OutlineReader {
  private readonly buffer: Buffer;
  private readonly view: DataView;
  private readonly reason: Reason;
  /** Beyond the allowed depth, brackets are counted but not matched. */
  private readonly isAnyDepth: boolean;

  constructor(bytes: Uint8Array, reason: Reason, most: number, isAnyDepth = false) {
    super(bytes, true, most);
    this.isAnyDepth = isAnyDepth;
    this.buffer = asBuffer(bytes);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.reason = reason;
  }

  override open(): void {
    // This reader does not look for duplicate names.
  }

  override close(): void {
    // This reader does not look for duplicate names.
  }

  override broken(at: number): Failure {
    return new Failure(this.reason, { cause: new SyntaxError(`not JSON at byte ${at}`) });
  }

  override crowded(at: number): Failure {
    return new Failure(this.reason, { cause: new RangeError(`too many members at byte ${at}`) });
  }

  override name(at: number): number {
    return this.text(at);
  }

  override value(at: number): number {
    const { bytes, end } = this;
    const byte = at < end ? bytes[at] : -1;
    if (byte === 0x22 /* " */) return this.text(at);
    if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) return this.container(at);
    let i = at;
    while (i < end && scalarByte[bytes[i] as number] === 1) i++;
    if (i === at) throw this.broken(at);
    return i;
  }

  private container(at: number): number {
    const { bytes, view, end } = this;
    let depth = 0;
    let i = at;
    while (i < end) {
      const byte = bytes[i] as number;
      if (byte === 0x22 /* " */) {
        i = this.text(i);
        continue;
      }
      i++;
      if (byte === 0x2c /* , */ || byte === 0x3a /* : */) continue;
      if ((byte & 0x59) !== 0x59) {
        i = skipToStructure(bytes, view, i, end);
        continue;
      }
      if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
        if (depth >= DEPTH && !this.isAnyDepth) throw this.broken(i);
        // A write beyond the end of a typed array is ignored.
        brackets[depth++] = byte;
      } else {
        // Each closing bracket's code is its opening one's plus two.
        if (brackets[--depth] !== byte - 2 && depth <= DEPTH) throw this.broken(i);
        if (depth === 0) return i;
      }
    }
    throw this.broken(i);
  }

  /** Skips the string whose opening quote is at `at`. */
  private text(at: number): number {
    const near = Math.min(at + SHORT_TEXT, this.end);
    const stop = skipToQuote(this.bytes, this.view, at + 1, near);
    return stop < near && this.bytes[stop] === 0x22 /* " */ ? stop + 1 : this.longText(at, stop);
  }

  /**
   * Skips the rest of a string; `from` is not inside an escape. A string that does not end nearby is searched natively,
   * for a quote with an even number of backslashes before it.
   */
  private longText(at: number, from: number): number {
    const { bytes, view, buffer, end } = this;
    let i = from;
    while (i < end) {
      const near = Math.min(i + SHORT_TEXT, end);
      const stop = skipToQuote(bytes, view, i, near);
      if (stop < near) {
        if (bytes[stop] === 0x22 /* " */) return stop + 1;
        i = stop + 2;
        continue;
      }
      const quote = buffer.indexOf(0x22, stop);
      if (quote === -1) break;
      let escapes = quote;
      while (escapes > stop && bytes[escapes - 1] === 0x5c /* \ */) escapes--;
      i = quote + 1;
      if (((quote - escapes) & 1) === 0) return i;
    }
    throw this.broken(at);
  }
}
