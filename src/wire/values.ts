/**
 * Reads small values and names. The rest of a message stays bytes. The protocol's own words (member names, methods,
 * revisions) are looked up in a fixed table, which is cheaper than creating a string. Nothing that a peer sends is ever
 * added to the table.
 */
import { Failure } from '../errors/failure.ts';
import type { Id, Member, Notification, ObjectSpan, ResultResponse, Span } from './message.ts';
import { methods } from './methods.ts';
import { revisions } from './revisions.ts';
import { vocabulary } from './vocabulary.ts';

const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** Integers with this many digits always fit what the engine stores unboxed. */
const SMALL_DIGITS = 9;

/** A power of two, several times the number of words. */
const SLOTS = 1024;

const words = [...vocabulary, ...methods.map(({ method }) => method), ...revisions, '2.0', 'complete'];
const longest = Math.max(...words.map((word) => word.length));
/** By slot: the word, its length (0 if empty), and where its bytes begin. Comparing numbers is faster than text. */
const kept: string[] = new Array<string>(SLOTS).fill('');
const lengths = new Uint8Array(SLOTS);
const starts = new Uint16Array(SLOTS);
const spelled = new Uint8Array(Buffer.from(words.join('')));

let filled = 0;
for (const word of words) {
  let slot = slotOf(spelled, filled, filled + word.length);
  while (lengths[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
  kept[slot] = word;
  lengths[slot] = word.length;
  starts[slot] = filled;
  filled += word.length;
}

function slotOf(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const first = bytes[start] as number;
  const middle = bytes[start + (length >> 1)] as number;
  const last = bytes[end - 1] as number;
  return (first + middle * 5 + last * 13 + length * 71) & (SLOTS - 1);
}

/**
 * The protocol's word between two quotes, which `start` and `end` exclude; undefined if the text is not such a word.
 */
export function wordAt(bytes: Uint8Array, start: number, end: number): string | undefined {
  const length = end - start;
  if (length === 0 || length > longest) return undefined;
  let slot = slotOf(bytes, start, end);
  for (;;) {
    const known = lengths[slot] as number;
    if (known === 0) return undefined;
    if (known === length) {
      const offset = (starts[slot] as number) - start;
      let i = start;
      while (i < end && spelled[offset + i] === bytes[i]) i++;
      if (i === end) return kept[slot];
    }
    slot = (slot + 1) & (SLOTS - 1);
  }
}

/** The decoded name between two quotes. Only a backend can send a malformed escape; the name then stays undecoded. */
export function nameAt(bytes: Uint8Array, start: number, end: number): string {
  const word = wordAt(bytes, start, end);
  if (word !== undefined) return word;
  const text = asBuffer(bytes).toString('utf8', start, end);
  return text.includes('\\') ? (unescaped(text) ?? text) : text;
}

/** Only backend output can contain a malformed escape: client input was read strictly. */
function unescaped(text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return undefined;
  }
}

/** The same memory as a Buffer, for its native searching and decoding. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function textAt(bytes: Uint8Array, { start, end }: Span): string {
  return asBuffer(bytes).toString('utf8', start, end);
}

export function slice(bytes: Uint8Array, span: Span): Uint8Array {
  return bytes.subarray(span.start, span.end);
}

/** The decoded text if the span is a JSON string, else undefined. */
export function stringAt(bytes: Uint8Array, { start, end }: Span): string | undefined {
  if (end - start < 2 || bytes[start] !== QUOTE) return undefined;
  const word = wordAt(bytes, start + 1, end - 1);
  if (word !== undefined) return word;
  const text = asBuffer(bytes).toString('utf8', start + 1, end - 1);
  return text.includes('\\') ? unescaped(text) : text;
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

/** Whether a result of a modern backend asks the client for input. Results of earlier revisions have no type. */
export function asksForInput({ bytes, result }: ResultResponse): boolean {
  return textMember(bytes, result, 'resultType') === 'input_required';
}

/** The first letter of `true`. */
const T = 0x74;

/** The tool itself reported that it failed: `isError`. */
export function isToolError({ bytes, result }: ResultResponse): boolean {
  const flag = member(result, 'isError');
  return flag !== undefined && bytes[flag.start] === T;
}

/** A string or an integer spelled `-?digits`: an id, a progress token or a subscription id. */
export function idAt(bytes: Uint8Array, span: Span): Id | undefined {
  if (bytes[span.start] !== QUOTE) {
    const raw = integerAt(bytes, span);
    return raw === undefined ? undefined : { raw, key: raw === '-0' ? 'n0' : `n${raw}` };
  }
  const raw = textAt(bytes, span);
  const text = raw.includes('\\') ? unescaped(raw.slice(1, -1)) : raw.slice(1, -1);
  return text === undefined ? undefined : { raw, key: `s${text}` };
}

/** The text of a number that is spelled without fraction and exponent, of any length; undefined for anything else. */
function integerAt(bytes: Uint8Array, span: Span): string | undefined {
  const { end } = span;
  const start = bytes[span.start] === MINUS ? span.start + 1 : span.start;
  if (start >= end || (bytes[start] === ZERO && end > start + 1)) return undefined;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = (bytes[i] as number) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  // Writing a small number is cheaper than decoding its bytes.
  return start === span.start && end - start <= SMALL_DIGITS ? String(value) : textAt(bytes, span);
}

export function isInteger(bytes: Uint8Array, span: Span): boolean {
  return integerAt(bytes, span) !== undefined;
}

/** The id in the `params` of a message: `requestId`, `progressToken`. */
export function idIn({ bytes, params }: Pick<Notification, 'bytes' | 'params'>, name: string): Id | undefined {
  const span = member(params, name);
  return span && idAt(bytes, span);
}

/** Whether a value contains more members and items than `most`, at any depth. Stops reading at that number. */
export function hasMoreThan(most: number, bytes: Uint8Array, { start, end }: Span): boolean {
  // Each has a comma of its own, but the first.
  if (end - start <= most) return false;
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
