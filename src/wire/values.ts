/** Reads small values at a span. The rest of a message stays bytes. */
import { Failure } from '../errors/failure.ts';
import type { Id, Member, Notification, ObjectSpan, Span } from './message.ts';

const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** Up to this length, a loop is faster than a native call. */
const SHORT_TEXT = 64;
/** Integers with this many digits always fit what the engine stores unboxed. */
const SMALL_DIGITS = 9;

/** The same memory as a Buffer, for its native searching and decoding. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function textAt(bytes: Uint8Array, span: Span): string {
  return asBuffer(bytes).toString('utf8', span.start, span.end);
}

export function slice(bytes: Uint8Array, span: Span): Uint8Array {
  return bytes.subarray(span.start, span.end);
}

/** The decoded text if the span is a JSON string, else undefined. */
export function stringAt(bytes: Uint8Array, span: Span): string | undefined {
  if (span.end - span.start < 2 || bytes[span.start] !== QUOTE) return undefined;
  const start = span.start + 1;
  const end = span.end - 1;
  return hasEscape(bytes, start, end) ? unescapeString(textAt(bytes, span)) : textAt(bytes, { start, end });
}

function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > SHORT_TEXT) return bytes.subarray(start, end).includes(BACKSLASH);
  for (let i = start; i < end; i++) if (bytes[i] === BACKSLASH) return true;
  return false;
}

/** Only backend output can contain a malformed escape: client input was read strictly. */
function unescapeString(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The parsed value. Backend output was only skimmed, so it may turn out to be invalid JSON here. Members named
 * `__proto__` become own properties: copy such an object with spread, never with `Object.assign`.
 */
export function valueAt(bytes: Uint8Array, span: Span): unknown {
  try {
    return JSON.parse(textAt(bytes, span));
  } catch (cause) {
    throw new Failure('backend_invalid', { cause });
  }
}

/** Whether a parsed value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function member(object: ObjectSpan | undefined, key: string): Member | undefined {
  if (object === undefined) return undefined;
  for (const candidate of object.members) if (candidate.key === key) return candidate;
  return undefined;
}

/** The text of a member, if it is a string. */
export function textMember(bytes: Uint8Array, object: ObjectSpan | undefined, key: string): string | undefined {
  const found = member(object, key);
  return found && stringAt(bytes, found);
}

/** A string or an integer spelled `-?digits`: an id, a progress token or a subscription id. */
export function idAt(bytes: Uint8Array, span: Span): Id | undefined {
  if (bytes[span.start] === QUOTE) {
    const text = stringAt(bytes, span);
    return text === undefined ? undefined : { raw: textAt(bytes, span), key: `s${text}` };
  }
  if (!isInteger(bytes, span)) return undefined;
  const raw = integerText(bytes, span);
  return { raw, key: raw === '-0' ? 'n0' : `n${raw}` };
}

function integerText(bytes: Uint8Array, span: Span): string {
  if (span.end - span.start > SMALL_DIGITS || bytes[span.start] === MINUS) return textAt(bytes, span);
  let value = 0;
  for (let i = span.start; i < span.end; i++) value = value * 10 + (bytes[i] as number) - ZERO;
  return String(value);
}

/** Whether the number is spelled without fraction and exponent; of any length. */
export function isInteger(bytes: Uint8Array, span: Span): boolean {
  const start = bytes[span.start] === MINUS ? span.start + 1 : span.start;
  if (start >= span.end) return false;
  if (bytes[start] === ZERO && span.end > start + 1) return false;
  for (let i = start; i < span.end; i++) {
    const byte = bytes[i] as number;
    if (byte < ZERO || byte > NINE) return false;
  }
  return true;
}

/** The id in the `params` of a message: `requestId`, `progressToken`. */
export function idIn({ bytes, params }: Pick<Notification, 'bytes' | 'params'>, name: string): Id | undefined {
  const span = member(params, name);
  return span && idAt(bytes, span);
}

/** Whether a value contains more members and items than `most`, at any depth. Stops reading at that number. */
export function hasMoreThan(most: number, bytes: Uint8Array, { start, end }: Span): boolean {
  let commas = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) i = closingQuote(bytes, i + 1, end);
    else if (byte === COMMA && ++commas >= most) return true;
  }
  return false;
}

/** `at` is the offset after the opening quote. */
function closingQuote(bytes: Uint8Array, at: number, end: number): number {
  for (let quote = bytes.indexOf(QUOTE, at); quote !== -1 && quote < end; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let before = quote;
    while (before > at && bytes[before - 1] === BACKSLASH) before--;
    if ((quote - before) % 2 === 0) return quote;
  }
  return end;
}
