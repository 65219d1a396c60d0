/**
 * Finds two members of one object with the same name. The names of all open objects are on one stack, each as its hash
 * and the offset where it begins. When an object closes, its names are on top of the stack and are compared. Names with
 * equal hashes are compared as text, so a hash collision costs time but is never taken for a duplicate.
 *
 * The hashes are keyed. Without the key no client can construct names that collide, so none can make the search slow.
 * The key is set once, at start-up.
 */
import { utf8Into } from './unescape.ts';
import { nameAt } from './values.ts';

/** Entries on the stack per name. */
const NAME = 2;
/** Up to this many names, comparing each pair is cheaper. */
const FEW = 8;
/**
 * Filter bits per name. The filter finds names that may have a duplicate: with fewer bits more names would share one,
 * more bits would not fit a cache.
 */
const BITS_PER_NAME = 8;
/** The stack and the filters grow with a body. They are kept for the next body up to `KEPT_NAMES`. */
const FIRST_NAMES = 1024;
const KEPT_NAMES = 16_384;

export class DuplicateKeys {
  /** Where the next name is put on the stack: an object that opens begins there. */
  top = 0;
  private names = new Int32Array(NAME * FIRST_NAMES);
  /** Filter bits set by one name, and those set by several. */
  private seen = new Int32Array(0);
  private met = new Int32Array(0);
  /** Set at the first duplicate of a body; nothing is compared after that. */
  private isFound = false;

  /** Records a name of the innermost open object; `start` is the offset after its opening quote. */
  add(hash: number, start: number): void {
    const { top } = this;
    if (top === this.names.length) this.grow();
    this.names[top] = hash;
    this.names[top + 1] = start;
    this.top = top + NAME;
  }

  /** Closes the object whose names begin at `base`. Returns the offset of the body's first duplicate name, or -1. */
  close(base: number, bytes: Uint8Array): number {
    const { top } = this;
    this.top = base;
    if (top - base <= NAME || this.isFound) return -1;
    const twin = top - base <= NAME * FEW ? this.amongFew(base, top, bytes) : this.amongMany(base, top, bytes);
    this.isFound = twin !== -1;
    return twin;
  }

  /** Forgets the body, and releases memory above `KEPT_NAMES`. */
  clear(): void {
    this.top = 0;
    this.isFound = false;
    if (this.names.length <= NAME * KEPT_NAMES) return;
    this.names = new Int32Array(NAME * FIRST_NAMES);
    this.seen = this.met = new Int32Array(0);
  }

  private amongFew(base: number, top: number, bytes: Uint8Array): number {
    const { names } = this;
    let seen = 0;
    for (let at = base; at < top; at += NAME) {
      const hash = names[at] as number;
      const bit = 1 << (hash & 31);
      if ((seen & bit) !== 0) {
        for (let other = base; other < at; other += NAME) {
          if (names[other] === hash && this.isSame(other, at, bytes)) return names[at + 1] as number;
        }
      }
      seen |= bit;
    }
    return -1;
  }

  /** Keeps only names on the stack that share a filter bit with another name. */
  private amongMany(base: number, top: number, bytes: Uint8Array): number {
    const { names } = this;
    const bits = powerAbove(((top - base) / NAME) * BITS_PER_NAME);
    this.clearBits(bits >> 5);
    const { seen, met } = this;
    let meetings = 0;
    for (let at = base; at < top; at += NAME) {
      const hash = names[at] as number;
      const word = (hash & (bits - 1)) >> 5;
      const bit = 1 << (hash & 31);
      if (((seen[word] as number) & bit) !== 0) {
        met[word] = (met[word] as number) | bit;
        meetings++;
      } else seen[word] = (seen[word] as number) | bit;
    }
    if (meetings === 0) return -1;
    let end = base;
    for (let at = base; at < top; at += NAME) {
      const hash = names[at] as number;
      if (((met[(hash & (bits - 1)) >> 5] as number) & (1 << (hash & 31))) === 0) continue;
      names[end] = hash;
      names[end + 1] = names[at + 1] as number;
      end += NAME;
    }
    return end - base <= NAME * FEW ? this.amongFew(base, end, bytes) : this.inTable(base, end, bytes);
  }

  /** A hash table with open addressing, for the names that the filter left. */
  private inTable(base: number, top: number, bytes: Uint8Array): number {
    const { names } = this;
    const last = powerAbove(top - base) - 1;
    /** By slot: the position of a name on the stack, relative to the base and counted from 1. */
    const places = new Int32Array(last + 1);
    for (let at = base; at < top; at += NAME) {
      const hash = names[at] as number;
      let place = (hash >>> 7) & last;
      for (let other = places[place] as number; other !== 0; other = places[place] as number) {
        const known = base + other - 1;
        if (names[known] === hash && this.isSame(known, at, bytes)) return names[at + 1] as number;
        place = (place + 1) & last;
      }
      places[place] = at - base + 1;
    }
    return -1;
  }

  private isSame(one: number, other: number, bytes: Uint8Array): boolean {
    const { names } = this;
    return nameFrom(bytes, names[one + 1] as number) === nameFrom(bytes, names[other + 1] as number);
  }

  private clearBits(words: number): void {
    if (words > this.seen.length) {
      this.seen = new Int32Array(words);
      this.met = new Int32Array(words);
    } else {
      this.seen.fill(0, 0, words);
      this.met.fill(0, 0, words);
    }
  }

  private grow(): void {
    const { names } = this;
    this.names = new Int32Array(names.length * 4);
    this.names.set(names);
  }
}

/** The smallest power of two above `count`. */
function powerAbove(count: number): number {
  return 1 << (32 - Math.clz32(count));
}

/** The decoded name that begins at `start`, after its opening quote. */
function nameFrom(bytes: Uint8Array, start: number): string {
  let end = start;
  while (end < bytes.byteLength && bytes[end] !== 0x22 /* " */) end += bytes[end] === 0x5c /* \ */ ? 2 : 1;
  return nameAt(bytes, start, end);
}

/** Names of fewer bytes are short. */
const SHORT_NAME = 16;
/** 256 random words for each byte position of a short name. */
export const SHORT_PLACES = SHORT_NAME * 256;
/** Of 2^32: multiples of it are spread evenly. */
const GOLDEN_RATIO = 0x9e3779b1;
/** Rounds after the last word, without input. */
const FINAL_ROUNDS = 3;

let key0 = 0;
let key1 = 0;
/** A word for every byte value at every position of a short name. `keyHashes` makes them random. */
export const randomWords = new Int32Array(SHORT_PLACES).map((_, place) => Math.imul(place + 1, GOLDEN_RATIO));

export function keyHashes(first: number, second: number): void {
  key0 = first | 0;
  key1 = second | 0;
  const place = new Uint8Array(4);
  const view = new DataView(place.buffer);
  for (let i = 0; i < randomWords.length; i++) {
    view.setInt32(0, i, true);
    randomWords[i] = longHash(place, view, 0, 4);
  }
}

/**
 * The hash of a short name is the xor of its random words: simple tabulation (M. Pătraşcu, M. Thorup, "The Power of
 * Simple Tabulation Hashing"). With it names collide only by chance, however they were chosen.
 */
export function keyedHash(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  if (end - start >= SHORT_NAME) return longHash(bytes, view, start, end);
  let hash = 0;
  for (let i = start, place = 0; i < end; i++, place += 256) {
    hash ^= randomWords[place | (bytes[i] as number)] as number;
  }
  return hash;
}

/** Buffer for decoding names with escapes. A longer name gets its own buffer. */
const scratch = Buffer.allocUnsafeSlow(1024);
const scratchView = new DataView(scratch.buffer);

/** The hash of the decoded form of a name with escapes. */
export function decodedHash(bytes: Uint8Array, start: number, end: number): number {
  const room = end - start > scratch.byteLength ? Buffer.allocUnsafeSlow(end - start) : scratch;
  const view = room === scratch ? scratchView : new DataView(room.buffer);
  return keyedHash(room, view, 0, utf8Into(room, 0, bytes, start, end));
}

/** For names that are not short: HalfSipHash-1-3 (J.-P. Aumasson, D. J. Bernstein), https://github.com/veorq/SipHash */
export function longHash(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  const whole = end - ((end - start) & 3);
  // The bytes after the last whole word, with the length in the top byte.
  let rest = (end - start) << 24;
  for (let i = whole; i < end; i++) rest |= (bytes[i] as number) << ((i - whole) << 3);
  let v0 = key0;
  let v1 = key1;
  let v2 = key0 ^ 0x6c796765;
  let v3 = key1 ^ 0x74656462;
  const last = whole + 4 * FINAL_ROUNDS;
  for (let i = start; i <= last; i += 4) {
    const word = i < whole ? view.getInt32(i, true) : i === whole ? rest : 0;
    if (i === whole + 4) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  return v1 ^ v3;
}
