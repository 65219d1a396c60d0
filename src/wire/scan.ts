/**
 * The strict reader, for what clients send. One pass over the whole document: the grammar of RFC 8259, UTF-8, twins,
 * surrogates, depth, and the outline. It never stops early: what stands behind the last wanted member could contradict
 * it, and policy would have read something else than the backend does.
 *
 * Bytes are written as numbers with their character beside them: bundlers turn named constants into variables, and the
 * loops here are the ones where that can be measured at all.
 */
import { Failure, type Reason } from '../errors.ts';
import { echoedId, toMessage } from './envelope.ts';
import type { Batch, Message } from './message.ts';
import { type Alike, OutlineReader, skipWhite } from './outline.ts';
import { checkReferences } from './references.ts';
import { Twins } from './twins.ts';
import { skipDigits, skipPlain } from './words.ts';

export interface ReadLimits {
  /** How deep arrays and objects may nest, the message itself included. */
  readonly depth: number;
}

const rules = { reason: 'invalid_request', errorMembers: true } as const;

function inMcp(outline: OutlineReader): Message {
  const message = toMessage(outline, rules);
  checkReferences(message);
  return message;
}

/** Reading is synchronous, so one workspace serves all; it is made anew where somebody may read deeper. */
let workspace = new Twins(128);

export function readMessage(bytes: Uint8Array, limits: ReadLimits): Message | Batch {
  return readStrictly(bytes, limits, true, inMcp);
}

/** `make` says what makes the outline a message: MCP has more rules than JSON-RPC. */
export function readStrictly<T>(
  bytes: Uint8Array,
  limits: ReadLimits,
  isMcp: boolean,
  make: (outline: OutlineReader) => T,
): T | Batch {
  const end = bytes.byteLength;
  const start = skipWhite(bytes, 0, end);
  if (start < end && bytes[start] === 0x5b /* [ */) return { kind: 'batch', bytes };
  if (workspace.depth < limits.depth) workspace = new Twins(limits.depth);
  try {
    return new StrictReader(bytes, workspace, limits.depth, isMcp).read(start, make);
  } finally {
    workspace.clear();
  }
}

class StrictReader extends OutlineReader {
  private readonly view: DataView;
  private readonly twins: Twins;
  private readonly limit: number;
  /** What is wrong with a document that is JSON all the same. Told when all is read, so that the id can be echoed. */
  private flaw: Reason | undefined = undefined;
  private flawAt = 0;

  constructor(bytes: Uint8Array, twins: Twins, limit: number, isMcp: boolean) {
    super(bytes, isMcp);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.twins = twins;
    this.limit = limit;
  }

  read<T>(start: number, make: (outline: OutlineReader) => T): T {
    const { bytes, end } = this;
    const isObject = start < end && bytes[start] === 0x7b; /* { */
    const after = skipWhite(bytes, isObject ? this.message(start) : this.value(start, 0), end);
    if (after < end) throw this.broken(after);
    if (this.flaw !== undefined) throw this.refusal(this.flaw, this.flawAt);
    const alike = this.alike ?? this.alikeInside;
    if (alike !== undefined) throw this.confusable(alike);
    if (!isObject) throw new Failure('invalid_request', { message: 'A message must be an object' });
    return make(this);
  }

  override open(at: number, depth: number): void {
    if (depth > this.limit) throw this.refusal('too_deep', at);
    this.twins.openObject(depth);
  }

  override close(at: number, depth: number): void {
    if (this.twins.closeObject(depth)) this.note(at);
  }

  override broken(at: number): Failure {
    return new Failure('parse_error', { data: { offset: at } });
  }

  override crowded(at: number): Failure {
    return this.refusal('too_many_members', at);
  }

  private confusable({ name, word, at }: Alike): Failure {
    const id = echoedId(this);
    const message = `${name} differs from ${word} in case alone`;
    const detail = { message, data: { offset: at } };
    return new Failure('ambiguous_json', id === undefined ? detail : { ...detail, id });
  }

  private refusal(reason: Reason, at: number): Failure {
    const id = echoedId(this);
    return new Failure(reason, id === undefined ? { data: { offset: at } } : { data: { offset: at }, id });
  }

  private note(at: number): void {
    if (this.flaw !== undefined) return;
    this.flaw = 'ambiguous_json';
    this.flawAt = at;
  }

  override value(at: number, outer: number): number {
    const { bytes, view, end, twins, limit } = this;
    let depth = outer;
    let i = at;
    for (;;) {
      const byte = i < end ? (bytes[i] as number) : -1;
      if (byte === 0x22 /* " */) {
        i = skipPlain(bytes, view, i + 1, end);
        i = i < end && bytes[i] === 0x22 ? i + 1 : this.text(i);
      } else if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
        if (++depth > limit) throw this.refusal('too_deep', i);
        i = skipWhite(bytes, i + 1, end);
        // Either closing bracket is its opening one plus two.
        if (i >= end || bytes[i] !== byte + 2) {
          if (byte === 0x7b) {
            twins.openObject(depth);
            i = this.member(i, depth);
          } else twins.openArray(depth);
          continue;
        }
        depth--;
        i++;
      } else if (byte >= 0x31 /* 1 */ && byte <= 0x39 /* 9 */) {
        i = skipDigits(bytes, view, i + 1, end);
        const next = i < end ? (bytes[i] as number) : -1;
        if (next === 0x2e /* . */ || (next | 0x20) === 0x65 /* e */) i = this.fraction(i);
      } else i = byte === 0x2d /* - */ || byte === 0x30 /* 0 */ ? this.number(i) : this.word(i);

      // A value has ended: close what closes here, up to the next comma.
      for (;;) {
        if (depth === outer) return i;
        i = skipWhite(bytes, i, end);
        const next = i < end ? (bytes[i] as number) : -1;
        const inArray = twins.isArray(depth);
        if (next === 0x2c /* , */) {
          i = skipWhite(bytes, i + 1, end);
          if (!inArray) i = this.member(i, depth);
          break;
        }
        const close = inArray ? 0x5d /* ] */ : 0x7d; /* } */
        if (next !== close) throw this.broken(i);
        if (!inArray && twins.closeObject(depth)) this.note(i);
        depth--;
        i++;
      }
    }
  }

  /** Passes over a name and its colon; gives the offset where its value begins. */
  private member(at: number, depth: number): number {
    const { bytes, end } = this;
    if (at >= end || bytes[at] !== 0x22 /* " */) throw this.broken(at);
    const i = skipWhite(bytes, this.name(at, depth), end);
    if (i >= end || bytes[i] !== 0x3a /* : */) throw this.broken(i);
    return skipWhite(bytes, i + 1, end);
  }

  override name(at: number, depth: number): number {
    const { bytes, view, end, twins } = this;
    const stop = skipPlain(bytes, view, at + 1, end);
    if (stop < end && bytes[stop] === 0x22 /* " */) {
      if (twins.add(bytes, view, depth, at + 1, stop)) this.note(at);
      return stop + 1;
    }
    const after = this.text(stop);
    // UTF-8 has one spelling for a character: without an escape, bytes can be compared as they are.
    if (hasEscape(bytes, stop, after - 1)) twins.addDecoded(bytes, view, depth, at + 1, after - 1);
    else if (twins.add(bytes, view, depth, at + 1, after - 1)) this.note(at);
    return after;
  }

  /** Passes over the rest of a string; `at` is its first byte that is not plain ASCII text. */
  private text(at: number): number {
    const { bytes, view, end } = this;
    let i = at;
    while (i < end) {
      const byte = bytes[i] as number;
      if (byte === 0x22 /* " */) return i + 1;
      if (byte === 0x5c /* \ */) i = this.escape(i);
      else if (byte >= 0x80) i = this.multibyte(i);
      else break;
      i = skipPlain(bytes, view, i, end);
    }
    throw this.broken(i);
  }

  private escape(at: number): number {
    const { bytes, end } = this;
    switch (at + 1 < end ? bytes[at + 1] : -1) {
      case 0x22: // "
      case 0x5c: // \
      case 0x2f: // /
      case 0x62: // b
      case 0x66: // f
      case 0x6e: // n
      case 0x72: // r
      case 0x74: // t
        return at + 2;
      case 0x75: // u
        return this.unicode(at);
      default:
        throw this.broken(at);
    }
  }

  /** RFC 8259, section 8.2: half a surrogate pair is grammatical, and every reader makes something else of it. */
  private unicode(at: number): number {
    const { bytes, end } = this;
    const unit = this.hex(at + 2);
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;
    if (unit < 0xdc00 && at + 7 < end && bytes[at + 6] === 0x5c /* \ */ && bytes[at + 7] === 0x75 /* u */) {
      const low = this.hex(at + 8);
      if (low >= 0xdc00 && low <= 0xdfff) return at + 12;
    }
    this.note(at);
    return at + 6;
  }

  private hex(at: number): number {
    if (at + 4 > this.end) throw this.broken(this.end);
    let unit = 0;
    for (let i = at; i < at + 4; i++) {
      const byte = this.bytes[i] as number;
      const letter = byte | 0x20;
      if (byte >= 0x30 && byte <= 0x39) unit = (unit << 4) | (byte - 0x30);
      else if (letter >= 0x61 && letter <= 0x66) unit = (unit << 4) | (letter - 0x57);
      else throw this.broken(i);
    }
    return unit;
  }

  /** RFC 3629, section 4: no overlong forms, no surrogates, nothing above U+10FFFF. Passes over a whole run. */
  private multibyte(at: number): number {
    const { bytes, end } = this;
    let i = at;
    while (i < end && (bytes[i] as number) >= 0x80) {
      const lead = bytes[i] as number;
      const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      if (lead < 0xc2 || lead > 0xf4 || i + length > end) throw this.broken(i);
      const second = bytes[i + 1] as number;
      // The least and the most that may follow some leads, so that there is one way to write a character.
      const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
      const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
      if (second < least || second > most) throw this.broken(i);
      if (length > 2 && ((bytes[i + 2] as number) & 0xc0) !== 0x80) throw this.broken(i);
      if (length > 3 && ((bytes[i + 3] as number) & 0xc0) !== 0x80) throw this.broken(i);
      i += length;
    }
    return i;
  }

  /** A number that begins with a minus or a zero. */
  private number(at: number): number {
    const { bytes, end } = this;
    const i = bytes[at] === 0x2d /* - */ ? at + 1 : at;
    return this.fraction(i < end && bytes[i] === 0x30 /* 0 */ ? i + 1 : this.digits(i));
  }

  /** What may follow an integer. */
  private fraction(at: number): number {
    const { bytes, end } = this;
    let i = at;
    if (i < end && bytes[i] === 0x2e /* . */) i = this.digits(i + 1);
    if (i < end && ((bytes[i] as number) | 0x20) === 0x65 /* e */) {
      const sign = i + 1 < end ? bytes[i + 1] : -1;
      i = this.digits(sign === 0x2b /* + */ || sign === 0x2d /* - */ ? i + 2 : i + 1);
    }
    return i;
  }

  /** One digit or more. */
  private digits(at: number): number {
    const i = skipDigits(this.bytes, this.view, at, this.end);
    if (i === at) throw this.broken(i);
    return i;
  }

  private word(at: number): number {
    const { view, end } = this;
    const letters = at + 4 <= end ? view.getInt32(at, true) : 0;
    if (letters === 0x65757274 /* true */ || letters === 0x6c6c756e /* null */) return at + 4;
    if (letters === 0x736c6166 /* fals */ && at + 4 < end && view.getUint8(at + 4) === 0x65 /* e */) return at + 5;
    throw this.broken(at);
  }
}

function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] === 0x5c /* \ */) return true;
  return false;
}
