/**
 * The strict reader, for client input. One pass over the whole document checks the grammar of RFC 8259, UTF-8,
 * duplicate names, surrogates and depth, and records the outline. It never stops early: a later member could contradict
 * an earlier one, and policy would then judge something other than what the backend reads.
 *
 * Bytes are written as numbers with their character beside them: bundlers turn named constants into variables, and in
 * these loops the cost of that is measurable.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import { DuplicateKeys } from './duplicate-keys.ts';
import { echoedId, toMessage } from './envelope.ts';
import { Grammar } from './grammar.ts';
import { decodedHash, keyedHash, randomWords, SHORT_PLACES } from './keyed-hash.ts';
import type { Batch, Message } from './message.ts';
import { type Alike, NOTED_MEMBERS, type OutlineReader, skipWhite } from './outline.ts';
import { checkReferences } from './references.ts';
import { passOver } from './skim.ts';
import { standsFor } from './unescape.ts';
import { skipDigits, special } from './words.ts';

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

const rules = { reason: 'invalid_request', errorMembers: true } as const;

function inMcp(outline: OutlineReader): Message {
  const message = toMessage(outline, rules);
  checkReferences(message);
  return message;
}

/** Reading is synchronous, so one workspace serves all messages. It is replaced when a limit allows more depth. */
let workspace = new DuplicateKeys(128);

export function readMessage(bytes: Uint8Array, limits: ReadLimits): Message | Batch {
  return readStrictly(bytes, limits, true, inMcp);
}

/** `make` turns the outline into a message: MCP has more rules than JSON-RPC. */
export function readStrictly<T>(
  bytes: Uint8Array,
  limits: ReadLimits,
  isMcp: boolean,
  make: (outline: OutlineReader) => T,
): T | Batch {
  const end = bytes.byteLength;
  const start = skipWhite(bytes, 0, end);
  if (start < end && bytes[start] === 0x5b /* [ */) return { kind: 'batch', bytes };
  if (workspace.depth < limits.depth) workspace = new DuplicateKeys(limits.depth);
  workspace.begin(bytes);
  try {
    return new StrictReader(bytes, workspace, limits, isMcp).read(start, make);
  } finally {
    workspace.end();
  }
}

class StrictReader extends Grammar {
  private readonly twins: DuplicateKeys;
  private readonly limit: number;
  private readonly isGlance: boolean;
  /** The problem of a document that is valid JSON. Thrown after everything was read, so that the id can be echoed. */
  private flaw: Reason | undefined = undefined;
  private flawAt = 0;

  constructor(bytes: Uint8Array, twins: DuplicateKeys, { depth, isGlance = false }: ReadLimits, isMcp: boolean) {
    super(bytes, isMcp, isGlance ? GLANCED_MEMBERS : NOTED_MEMBERS);
    this.twins = twins;
    this.limit = depth;
    this.isGlance = isGlance;
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

  override close(depth: number): void {
    const twin = this.twins.closeObject(depth);
    if (twin !== -1) this.note(twin - 1);
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

  override note(at: number): void {
    if (this.flaw !== undefined) return;
    this.flaw = 'ambiguous_json';
    this.flawAt = at;
  }

  override value(at: number, outer: number): number {
    return this.isGlance && isNested(this.bytes[at])
      ? passOver(this.bytes, at, 'parse_error')
      : this.wholeValue(at, outer);
  }

  private wholeValue(at: number, outer: number): number {
    const { bytes, view, end, twins, limit } = this;
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
            twins.openObject(depth);
            i = this.member(i);
          } else twins.openArray(depth);
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
        const inArray = twins.isArray(depth);
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
  override name(at: number): number {
    const { bytes, end } = this;
    const start = at + 1;
    let hash = 0;
    /** UTF-8 is checked up to this offset. */
    let checked = start;
    for (let i = start, place = 0; i < end && place < SHORT_PLACES; i++, place += 256) {
      let byte = bytes[i] as number;
      if (special[byte] === 1) {
        if (byte === 0x22 /* " */) {
          this.twins.add(hash, start);
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
    this.twins.add(this.isEscaped ? decodedHash(bytes, start, end) : keyedHash(bytes, view, start, end), start);
    return after;
  }
}

function isNested(byte: number | undefined): boolean {
  return byte === 0x7b /* { */ || byte === 0x5b /* [ */;
}
