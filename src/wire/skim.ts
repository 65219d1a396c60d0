/**
 * The lenient reader, for backend output. Results are passed on unread: only the envelope is checked, and that strings
 * end and brackets match. In every valid document it finds the same spans as the strict reader.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import type { Batch, Id, Message, ObjectSpan, Span } from './message.ts';
import { lowest, OutlineReader, skipWhite, toMessage } from './outline.ts';
import { StructureScanner } from './structure.ts';
import { asBuffer, idAt } from './values.ts';

/** Deeper than any real result, and less than what breaks the recursive parsers of clients. */
const DEPTH = 2048;
/** A string longer than this is searched natively: the call costs about as much as scanning this many bytes. */
const SHORT_TEXT = 64;

/** A container that ends within this many bytes is read token by token: starting the scanner costs about as much. */
const NEAR = 256;

/** The bytes of numbers and literals. */
const scalarByte = new Uint8Array(256);
for (const character of '+-.0123456789abcdefghijklmnopqrstuvwxyzE') scalarByte[character.charCodeAt(0)] = 1;

/** Skimming is synchronous, so one stack serves all messages: the opening brackets by depth. */
const brackets = new Uint8Array(DEPTH + 1);

/** Made at the first large message. Null where WebAssembly or its vector instructions are missing. */
let scanner: StructureScanner | null | undefined;

function makeScanner(): StructureScanner | null {
  try {
    return new StructureScanner(DEPTH);
  } catch {
    // Reading token by token is slower, and finds the same.
    return null;
  }
}

export function skimMessage(bytes: Uint8Array): Message | Batch {
  const start = skipWhite(bytes, 0, bytes.byteLength);
  if (bytes[start] === 0x5b /* [ */) return { kind: 'batch', bytes };
  reader.begin(bytes);
  try {
    if (bytes[start] !== 0x7b /* { */) throw reader.broken(start);
    reader.document(start);
    return toMessage(reader);
  } finally {
    reader.release();
  }
}

/**
 * The id of a response that cannot be read otherwise: it is nested too deeply, or its result is invalid. Undefined if
 * no id is found, or the bytes may not be a response.
 */
export function answerIdIn(bytes: Uint8Array): Id | undefined {
  reader.begin(bytes);
  reader.isAnyDepth = true;
  try {
    reader.document(skipWhite(bytes, 0, bytes.byteLength));
  } catch {
    // The members read before the error are used.
  }
  const { id, method, twin } = reader;
  reader.isAnyDepth = false;
  reader.release();
  return id === undefined || method !== undefined || twin !== undefined ? undefined : idAt(bytes, id);
}

/** The members of an object deeper in a message than the outline; undefined if the value is not an object. */
export function membersAt(bytes: Uint8Array, span: Span, most = Number.POSITIVE_INFINITY): ObjectSpan | undefined {
  if (bytes[span.start] !== 0x7b /* { */) return undefined;
  reader.begin(bytes, true, most);
  try {
    return reader.membersOf(span.start);
  } finally {
    reader.release();
  }
}

/** The elements of an array deeper in a message than the outline; undefined if the value is not an array. */
export function elementsAt(bytes: Uint8Array, span: Span): readonly Span[] | undefined {
  if (bytes[span.start] !== 0x5b /* [ */) return undefined;
  const elements: Span[] = [];
  let at = skipWhite(bytes, span.start + 1, span.end);
  reader.begin(bytes);
  try {
    while (at < span.end && bytes[at] !== 0x5d /* ] */) {
      const end = reader.value(at);
      elements.push({ start: at, end });
      at = skipWhite(bytes, end, span.end);
      if (bytes[at] === 0x2c /* , */) at = skipWhite(bytes, at + 1, span.end);
      else if (bytes[at] !== 0x5d) throw new Failure('backend_invalid');
    }
  } finally {
    reader.release();
  }
  return elements;
}

/** Offset after the value that begins at `at`; `reason` is for the failure if there is none. */
export function passOver(bytes: Uint8Array, at: number, reason: Reason): number {
  reader.begin(bytes);
  reader.reason = reason;
  try {
    return reader.value(at);
  } finally {
    reader.reason = 'backend_invalid';
    reader.release();
  }
}

class LenientReader extends OutlineReader {
  override readonly isStrict = false;
  reason: Reason = 'backend_invalid';
  /** Beyond the allowed depth, brackets are counted but not matched. */
  isAnyDepth = false;
  /** How many brackets were open where `tokens` stopped. */
  private depth = 0;

  override broken(at: number): Failure {
    return new Failure(this.reason, { cause: new SyntaxError(`not JSON at byte ${at}`) });
  }

  protected override crowded(at: number): Failure {
    return new Failure(this.reason, { cause: new RangeError(`too many members at byte ${at}`) });
  }

  override value(at: number): number {
    const { bytes, end } = this;
    const byte = at < end ? bytes[at] : -1;
    if (byte === 0x22 /* " */) return this.name(at);
    if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) return this.container(at);
    let i = at;
    while (i < end && scalarByte[bytes[i] as number] === 1) i++;
    if (i === at) throw this.broken(at);
    return i;
  }

  private container(at: number): number {
    const { bytes, end } = this;
    const isNear = end - at <= NEAR || this.isAnyDepth;
    if (!isNear && scanner === undefined) scanner = makeScanner();
    const faster = isNear ? null : scanner;
    const i = this.tokens(at, faster ? at + NEAR : end);
    if (this.depth === 0) return i;
    const after = faster ? faster.end(bytes, i, brackets.subarray(0, this.depth)) : ~i;
    if (after < 0) throw this.broken(~after);
    return after;
  }

  /**
   * Skips the tokens of a container up to its end, where `depth` is zero, or up to `until`; before that, at a string
   * that does not end there.
   */
  private tokens(at: number, until: number): number {
    const { bytes, view, end } = this;
    let depth = 0;
    let i = at;
    while (i < until) {
      const byte = bytes[i] as number;
      if (byte === 0x22 /* " */) {
        const after = until === end ? this.name(i) : this.nearText(i, until);
        if (after === -1) break;
        i = after;
        continue;
      }
      i++;
      if (byte === 0x2c /* , */ || byte === 0x3a /* : */) continue;
      if ((byte & 0x58) !== 0x58) {
        i = skipToStructure(bytes, view, i, until);
        continue;
      }
      if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
        if (depth >= DEPTH && !this.isAnyDepth) throw this.broken(i);
        // A write beyond the end of a typed array is ignored.
        brackets[depth++] = byte;
      } else {
        // Each closing bracket's code is its opening one's plus two.
        if (brackets[--depth] !== byte - 2 && depth <= DEPTH) throw this.broken(i);
        if (depth === 0) break;
      }
    }
    this.depth = depth;
    return i;
  }

  /** Names and strings are skipped alike. */
  protected override name(at: number): number {
    const near = Math.min(at + SHORT_TEXT, this.end);
    const stop = skipToQuote(this.bytes, this.view, at + 1, near);
    return stop < near && this.bytes[stop] === 0x22 /* " */ ? stop + 1 : this.longText(at, stop);
  }

  /** -1 for a string that does not end before `until`. */
  private nearText(at: number, until: number): number {
    const { bytes, view } = this;
    for (let i = at + 1; ; i += 2) {
      i = skipToQuote(bytes, view, i, until);
      if (i >= until) return -1;
      if (bytes[i] === 0x22 /* " */) return i + 1;
    }
  }

  /**
   * Skips the rest of a string; `from` is not inside an escape. A string that does not end nearby is searched natively,
   * for a quote with an even number of backslashes before it.
   */
  private longText(at: number, from: number): number {
    const { bytes, view, end } = this;
    let i = from;
    while (i < end) {
      const near = Math.min(i + SHORT_TEXT, end);
      const stop = skipToQuote(bytes, view, i, near);
      if (stop < near) {
        if (bytes[stop] === 0x22 /* " */) return stop + 1;
        i = stop + 2;
        continue;
      }
      const quote = asBuffer(bytes).indexOf(0x22, stop);
      if (quote === -1) break;
      let escapes = quote;
      while (escapes > stop && bytes[escapes - 1] === 0x5c /* \ */) escapes--;
      i = quote + 1;
      if (((quote - escapes) & 1) === 0) return i;
    }
    throw this.broken(at);
  }
}

/** Offset of the next quote or backslash, or the end. */
function skipToQuote(bytes: Uint8Array, view: DataView, at: number, end: number): number {
  let i = at;
  while (i + 4 <= end) {
    const word = view.getInt32(i, true);
    const quotes = word ^ 0x22222222;
    const backslashes = word ^ 0x5c5c5c5c;
    const hits = (((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080;
    if (hits !== 0) return i + lowest(hits);
    i += 4;
  }
  while (i < end && bytes[i] !== 0x22 && bytes[i] !== 0x5c) i++;
  return i;
}

/**
 * Offset of the next quote or bracket, or the end. The four brackets share bits that no other byte outside of strings
 * has. In malformed text other bytes may have them too, and are refused.
 */
function skipToStructure(bytes: Uint8Array, view: DataView, at: number, end: number): number {
  let i = at;
  while (i + 4 <= end) {
    const word = view.getInt32(i, true);
    const quotes = word ^ 0x22222222;
    const brackets = ~word & 0x58585858;
    const hits = (((quotes - 0x01010101) & ~quotes) | ((brackets - 0x01010101) & ~brackets)) & 0x80808080;
    if (hits !== 0) return i + lowest(hits);
    i += 4;
  }
  while (i < end && bytes[i] !== 0x22 && ((bytes[i] as number) & 0x58) !== 0x58) i++;
  return i;
}

const reader = new LenientReader();
