/**
 * The lenient reader, for what backends send. Results are passed on, not read: only the envelope is checked, and of the
 * rest that strings end and brackets match. It finds the same spans as the strict reader in every valid document.
 */
import { Failure, type Reason } from '../errors.ts';
import { toMessage } from './envelope.ts';
import type { Batch, Message } from './message.ts';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  OPEN_BRACE,
  OPEN_BRACKET,
  OutlineReader,
  QUOTE,
  skipWhite,
} from './outline.ts';
import { asBuffer } from './values.ts';

/** Deeper nesting than any real result has, and less than what breaks the recursive parsers of clients. */
const DEPTH = 2048;
/** Strings that do not end within so many bytes are searched natively: the call costs about as much as these. */
const SHORT_TEXT = 16;

/** What a byte means outside of strings. */
const PASS = 0;
const OPENS = 1;
const CLOSES = 2;
const QUOTES = 3;
const kinds = new Uint8Array(256);
kinds[OPEN_BRACE] = OPENS;
kinds[OPEN_BRACKET] = OPENS;
kinds[CLOSE_BRACE] = CLOSES;
kinds[CLOSE_BRACKET] = CLOSES;
kinds[QUOTE] = QUOTES;

/** What numbers and words consist of. */
const scalarByte = new Uint8Array(256);
for (const character of '+-.0123456789abcdefghijklmnopqrstuvwxyzE') scalarByte[character.charCodeAt(0)] = 1;

const rules = { reason: 'backend_invalid', errorMembers: false } as const;

/** Skimming is synchronous, so one stack serves all: the opening brackets by depth. */
const brackets = new Uint8Array(DEPTH + 1);

export function skimMessage(bytes: Uint8Array): Message | Batch {
  const end = bytes.byteLength;
  const start = skipWhite(bytes, 0, end);
  if (start < end && bytes[start] === OPEN_BRACKET) return { kind: 'batch', bytes };
  const reader = new LenientReader(bytes, rules.reason);
  if (start >= end || bytes[start] !== OPEN_BRACE) throw reader.broken(start);
  const after = skipWhite(bytes, reader.message(start), end);
  if (after < end) throw reader.broken(after);
  return toMessage(reader, rules);
}

/** Offset after the value that begins at `at`; `reason` is what to throw where there is none. */
export function passOver(bytes: Uint8Array, at: number, reason: Reason): number {
  return new LenientReader(bytes, reason).value(at);
}

class LenientReader extends OutlineReader {
  private readonly buffer: Buffer;
  private readonly reason: Reason;

  constructor(bytes: Uint8Array, reason: Reason) {
    super(bytes);
    this.buffer = asBuffer(bytes);
    this.reason = reason;
  }

  override open(): void {
    // Nothing is remembered about names.
  }

  override broken(at: number): Failure {
    return new Failure(this.reason, { cause: new SyntaxError(`not JSON at byte ${at}`) });
  }

  override name(at: number): number {
    return this.text(at);
  }

  override value(at: number): number {
    const { bytes, end } = this;
    const byte = at < end ? bytes[at] : -1;
    if (byte === QUOTE) return this.text(at);
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.container(at);
    let i = at;
    while (i < end && scalarByte[bytes[i] as number] === 1) i++;
    if (i === at) throw this.broken(at);
    return i;
  }

  private container(at: number): number {
    const { bytes, end } = this;
    let depth = 0;
    let i = at;
    while (i < end) {
      const byte = bytes[i] as number;
      switch (kinds[byte]) {
        case PASS:
          i++;
          break;
        case QUOTES:
          i = this.text(i);
          break;
        case OPENS:
          if (depth === DEPTH) throw this.broken(i);
          brackets[depth++] = byte;
          i++;
          break;
        case CLOSES:
          // Either closing bracket is its opening one plus two.
          if (brackets[--depth] !== byte - 2) throw this.broken(i);
          i++;
          if (depth === 0) return i;
          break;
      }
    }
    throw this.broken(i);
  }

  /** Passes over the string whose opening quote is at `at`. */
  private text(at: number): number {
    const { bytes, end } = this;
    const near = Math.min(at + SHORT_TEXT, end);
    let i = at + 1;
    while (i < near) {
      const byte = bytes[i] as number;
      if (byte === QUOTE) return i + 1;
      i += byte === BACKSLASH ? 2 : 1;
    }
    return this.longText(at, i);
  }

  /** A quote ends the string unless an odd number of backslashes stands before it. `from` is not inside an escape. */
  private longText(at: number, from: number): number {
    const { bytes, buffer } = this;
    let i = from;
    for (;;) {
      const quote = buffer.indexOf(QUOTE, i);
      if (quote === -1) throw this.broken(at);
      let escapes = quote;
      while (escapes > i && bytes[escapes - 1] === BACKSLASH) escapes--;
      if (((quote - escapes) & 1) === 0) return quote + 1;
      i = quote + 1;
    }
  }
}
