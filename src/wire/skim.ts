/**
 * The lenient reader, for what backends send. Results are passed on, not read: only the envelope is checked, and of the
 * rest that strings end and brackets match. It finds the same spans as the strict reader in every valid document.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import { toMessage } from './envelope.ts';
import type { Batch, Id, Message, ObjectSpan, Span } from './message.ts';
import { NOTED_MEMBERS, OutlineReader, skipWhite } from './outline.ts';
import { asBuffer, idAt } from './values.ts';
import { skipToQuote, skipToStructure } from './words.ts';

/** Deeper nesting than any real result has, and less than what breaks the recursive parsers of clients. */
const DEPTH = 2048;
/** What does not end within so many bytes is searched natively: the call costs about as much as these. */
const SHORT_TEXT = 64;

/** What numbers and words consist of. */
const scalarByte = new Uint8Array(256);
for (const character of '+-.0123456789abcdefghijklmnopqrstuvwxyzE') scalarByte[character.charCodeAt(0)] = 1;

const rules = { reason: 'backend_invalid', errorMembers: false } as const;

/** Skimming is synchronous, so one stack serves all: the opening brackets by depth. */
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
 * The id of a response that cannot be read otherwise: its values are nested too deeply, or are no result. Undefined where no id
 * is found, or the bytes may be something else than a response.
 */
export function answerIdIn(bytes: Uint8Array): Id | undefined {
  const reader = new LenientReader(bytes, rules.reason, NOTED_MEMBERS, true);
  const start = skipWhite(bytes, 0, bytes.byteLength);
  try {
    if (bytes[start] === 0x7b /* { */) reader.message(start);
  } catch {
    // What was read before the flaw counts.
  }
  const { id, method, twin } = reader;
  return id === undefined || method !== undefined || twin !== undefined ? undefined : idAt(bytes, id);
}

/** The members of the object that a span points to, deeper in a message than the outline goes; or undefined. */
export function membersAt(bytes: Uint8Array, span: Span, most = Number.POSITIVE_INFINITY): ObjectSpan | undefined {
  if (bytes[span.start] !== 0x7b /* { */) return undefined;
  return new LenientReader(bytes, rules.reason, most).members(span.start);
}

/** Offset after the value that begins at `at`; `reason` is what to throw where there is none. */
export function passOver(bytes: Uint8Array, at: number, reason: Reason): number {
  return new LenientReader(bytes, reason, NOTED_MEMBERS).value(at);
}

class LenientReader extends OutlineReader {
  private readonly buffer: Buffer;
  private readonly view: DataView;
  private readonly reason: Reason;
  /** Beyond the depth that is allowed brackets are counted, and not matched. */
  private readonly isAnyDepth: boolean;

  constructor(bytes: Uint8Array, reason: Reason, most: number, isAnyDepth = false) {
    super(bytes, true, most);
    this.isAnyDepth = isAnyDepth;
    this.buffer = asBuffer(bytes);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.reason = reason;
  }

  override open(): void {
    // Nothing is remembered about names.
  }

  override close(): void {
    // Nothing was remembered.
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
        // Writing behind its end does nothing.
        brackets[depth++] = byte;
      } else {
        // Either closing bracket is its opening one plus two.
        if (brackets[--depth] !== byte - 2 && depth <= DEPTH) throw this.broken(i);
        if (depth === 0) return i;
      }
    }
    throw this.broken(i);
  }

  /** Passes over the string whose opening quote is at `at`. */
  private text(at: number): number {
    const near = Math.min(at + SHORT_TEXT, this.end);
    const stop = skipToQuote(this.bytes, this.view, at + 1, near);
    return stop < near && this.bytes[stop] === 0x22 /* " */ ? stop + 1 : this.longText(at, stop);
  }

  /**
   * Passes over the rest of it; `from` is not inside an escape. What does not end nearby is searched natively, for a
   * quote with an even number of backslashes before it.
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
