/**
 * The strict reader, for client input. One pass over the whole document checks the grammar of RFC 8259, UTF-8,
 * duplicate names, surrogates and depth, and records the outline. It never stops early: a later member could contradict
 * an earlier one, and policy would then judge something other than what the backend reads.
 *
 * Bytes are written as numbers with their character beside them: bundlers turn named constants into variables, and in
 * these loops the cost of that is measurable.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import { referenceChecks } from './ambiguity.ts';
import { DuplicateKeys, decodedHash, longHash, randomWords, SHORT_PLACES } from './duplicate-keys.ts';
import type { Folds } from './fold.ts';
import { Grammar, skipDigits, special } from './grammar.ts';
import type { Batch, Member, Message } from './message.ts';
import { echoedId, NOTED_MEMBERS, type OutlineReader, skipWhite, toMessage } from './outline.ts';
import { passOver } from './skim.ts';
import { standsFor } from './unescape.ts';

export interface ReadLimits {
  /** How deep arrays and objects may nest, counting the message itself. */
  readonly depth: number;
  /**
   * For a refused request, which needs little more than the id: nested values are skipped, few members are recorded.
   */
  readonly isGlance?: boolean;
}

/** More than any method has. */
const GLANCED_MEMBERS = 64;
/** Marks an open array in `bases`. */
const ARRAY = -1;

export function readMessage(bytes: Uint8Array, limits: ReadLimits): Message | Batch {
  const message = readStrictly(bytes, limits, true, toMessage);
  if (message.kind === 'request') referenceChecks.get(message.method)?.(message);
  return message;
}

/** `make` turns the outline into a message: MCP has more rules than JSON-RPC. */
export function readStrictly<T>(
  bytes: Uint8Array,
  limits: ReadLimits,
  isMcp: boolean,
  make: (outline: OutlineReader) => T,
): T | Batch {
  const start = skipWhite(bytes, 0, bytes.byteLength);
  if (bytes[start] === 0x5b /* [ */) return { kind: 'batch', bytes };
  reader.open(bytes, limits, isMcp);
  try {
    reader.document(start);
    reader.check();
    if (bytes[start] !== 0x7b /* { */) throw new Failure('invalid_request', { message: 'A message must be an object' });
    return make(reader);
  } finally {
    reader.release();
  }
}

class StrictReader extends Grammar {
  override readonly isStrict = true;
  private readonly keys = new DuplicateKeys();
  /** By depth of an open object or array: where its names begin in `keys`, or `ARRAY`. */
  private bases = new Int32Array(0);
  private limit = 0;
  private isGlance = false;
  /** The problem of a document that is valid JSON. Thrown after everything was read, so that the id can be echoed. */
  private flaw: Reason | undefined = undefined;
  private flawAt = 0;

  open(bytes: Uint8Array, { depth, isGlance = false }: ReadLimits, isMcp: boolean): void {
    if (this.bases.length <= depth) this.bases = new Int32Array(depth + 1);
    this.begin(bytes, isMcp, isGlance ? GLANCED_MEMBERS : NOTED_MEMBERS);
    this.limit = depth;
    this.isGlance = isGlance;
  }

  override release(): void {
    super.release();
    this.keys.clear();
    this.flaw = undefined;
  }

  /** Throws what was noted while the document was read. */
  check(): void {
    if (this.flaw !== undefined) throw this.refusal(this.flaw, this.flawAt);
    const alike = this.alike ?? this.alikeInside;
    if (alike !== undefined) {
      throw this.refusal('ambiguous_json', alike.at, `${alike.name} differs from ${alike.word} only in case`);
    }
  }

  protected override object(at: number, depth: number, members: Member[] | undefined, known: Folds | undefined) {
    if (depth > this.limit) throw this.refusal('too_deep', at);
    this.bases[depth] = this.keys.top;
    const after = super.object(at, depth, members, known);
    this.close(depth);
    return after;
  }

  private close(depth: number): void {
    const twin = this.keys.close(this.bases[depth] as number, this.bytes);
    if (twin !== -1) this.note(twin - 1);
  }

  override broken(at: number): Failure {
    return new Failure('parse_error', { data: { offset: at } });
  }

  protected override crowded(at: number): Failure {
    return this.refusal('too_many_members', at);
  }

  private refusal(reason: Reason, at: number, message?: string): Failure {
    const id = echoedId(this);
    return new Failure(reason, {
      data: { offset: at },
      ...(message !== undefined && { message }),
      ...(id !== undefined && { id }),
    });
  }

  protected override note(at: number): void {
    if (this.flaw !== undefined) return;
    this.flaw = 'ambiguous_json';
    this.flawAt = at;
  }

  protected override value(at: number, outer: number): number {
    const { bytes, view, end, keys, bases, limit } = this;
    if (this.isGlance && (bytes[at] === 0x7b /* { */ || bytes[at] === 0x5b) /* [ */) {
      return passOver(bytes, at, 'parse_error');
    }
    let depth = outer;
    let i = at;
    for (;;) {
      const byte = i < end ? (bytes[i] as number) : -1;
      if (byte === 0x22 /* " */) {
        i = this.string(i + 1);
      } else if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
        if (++depth > limit) throw this.refusal('too_deep', i);
        i = skipWhite(bytes, i + 1, end);
        // Each closing bracket's code is its opening one's plus two.
        if (i >= end || bytes[i] !== byte + 2) {
          if (byte === 0x7b) {
            bases[depth] = keys.top;
            i = this.member(i);
          } else bases[depth] = ARRAY;
          continue;
        }
        depth--;
        i++;
      } else if (byte >= 0x30 /* 0 */ && byte <= 0x39 /* 9 */) {
        i = byte === 0x30 ? i + 1 : skipDigits(bytes, view, i + 1, end);
        const next = i < end ? (bytes[i] as number) : -1;
        if (next === 0x2e /* . */ || (next | 0x20) === 0x65 /* e */) i = this.fraction(i);
      } else i = byte === 0x2d /* - */ ? this.negative(i) : this.word(i);

      // A value has ended: close the containers that end here, up to the next comma.
      for (;;) {
        if (depth === outer) return i;
        i = skipWhite(bytes, i, end);
        const next = i < end ? (bytes[i] as number) : -1;
        const inArray = bases[depth] === ARRAY;
        if (next === 0x2c /* , */) {
          i = skipWhite(bytes, i + 1, end);
          if (!inArray) i = this.member(i);
          break;
        }
        const close = inArray ? 0x5d /* ] */ : 0x7d; /* } */
        if (next !== close) throw this.broken(i);
        if (!inArray) this.close(depth);
        depth--;
        i++;
      }
    }
  }

  /** Skips a name and its colon; returns the offset of the value. */
  private member(at: number): number {
    const { bytes, end } = this;
    if (at >= end || bytes[at] !== 0x22 /* " */) throw this.broken(at);
    const i = skipWhite(bytes, this.name(at), end);
    if (i >= end || bytes[i] !== 0x3a /* : */) throw this.broken(i);
    return skipWhite(bytes, i + 1, end);
  }

  /** A short name is hashed while it is read, in the same way as by `keyedHash`. */
  protected override name(at: number): number {
    const { bytes, end } = this;
    const start = at + 1;
    let hash = 0;
    /** UTF-8 is checked up to this offset. */
    let checked = start;
    for (let i = start, place = 0; i < end && place < SHORT_PLACES; i++, place += 256) {
      let byte = bytes[i] as number;
      if (special[byte] === 1) {
        if (byte === 0x22 /* " */) {
          this.keys.add(hash, start);
          return i + 1;
        }
        if (byte === 0x5c /* \ */) byte = ++i < end ? (standsFor[bytes[i] as number] as number) : 0;
        else if (byte < 0x80) break;
        else if (i >= checked) checked = this.multibyte(i);
        if (byte === 0) break;
      }
      hash ^= randomWords[place | byte] as number;
    }
    return this.longName(start);
  }

  /** For a name that is long, contains `\u`, or is malformed. */
  private longName(start: number): number {
    const { bytes, view } = this;
    this.isEscaped = false;
    const after = this.string(start);
    const end = after - 1;
    // UTF-8 has one encoding per character: without an escape, bytes can be compared directly.
    this.keys.add(this.isEscaped ? decodedHash(bytes, start, end) : longHash(bytes, view, start, end), start);
    return after;
  }
}

const reader = new StrictReader();
