/**
 * Finds two members of one object with the same name. The names of all open objects are on one stack, each as its hash
 * and the offset where it begins. When an object closes, its names are on top of the stack and are compared. Names with
 * equal hashes are compared as text, so a hash collision costs time but is never taken for a duplicate.
 */
import { nameFrom } from './names.ts';

/** Entries on the stack per name. */
const NAME = 2;
/** Marks an open array in `bases`. */
const ARRAY = -1;
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

const nothing = new Uint8Array(0);

export class DuplicateKeys {
  readonly depth: number;
  /** By depth: where the open object's names begin on the stack. */
  private readonly bases: Int32Array;
  private names = new Int32Array(NAME * FIRST_NAMES);
  private top = 0;
  /** Filter bits set by one name, and those set by several. */
  private seen = new Int32Array(0);
  private met = new Int32Array(0);
  private bytes: Uint8Array = nothing;
  /** Set at the first duplicate of a body; nothing is compared after that. */
  private isFound = false;

  constructor(depth: number) {
    this.depth = depth;
    this.bases = new Int32Array(depth + 1);
  }

  begin(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.isFound = false;
  }

  openObject(depth: number): void {
    this.bases[depth] = this.top;
  }

  openArray(depth: number): void {
    this.bases[depth] = ARRAY;
  }

  isArray(depth: number): boolean {
    return this.bases[depth] === ARRAY;
  }

  /** Records a name of the innermost open object; `start` is the offset after its opening quote. */
  add(hash: number, start: number): void {
    const { top } = this;
    if (top === this.names.length) this.grow();
    this.names[top] = hash;
    this.names[top + 1] = start;
    this.top = top + NAME;
  }

  /** Closes the object at that depth. Returns the offset of the body's first duplicate name, or -1. */
  closeObject(depth: number): number {
    const { top } = this;
    const base = this.bases[depth] as number;
    this.top = base;
    if (top - base <= NAME || this.isFound) return -1;
    const twin = top - base <= NAME * FEW ? this.amongFew(base, top) : this.amongMany(base, top);
    this.isFound = twin !== -1;
    return twin;
  }

  /** Releases the body, and memory above `KEPT_NAMES`. */
  end(): void {
    this.top = 0;
    this.bytes = nothing;
    if (this.names.length <= NAME * KEPT_NAMES) return;
    this.names = new Int32Array(NAME * FIRST_NAMES);
    this.seen = this.met = new Int32Array(0);
  }

  private amongFew(base: number, top: number): number {
    const { names } = this;
    let seen = 0;
    for (let at = base; at < top; at += NAME) {
      const hash = names[at] as number;
      const bit = 1 << (hash & 31);
      if ((seen & bit) !== 0) {
        for (let other = base; other < at; other += NAME) {
          if (names[other] === hash && this.isSame(other, at)) return names[at + 1] as number;
        }
      }
      seen |= bit;
    }
    return -1;
  }

  /** Keeps only names on the stack that share a filter bit with another name. */
  private amongMany(base: number, top: number): number {
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
    return end - base <= NAME * FEW ? this.amongFew(base, end) : this.inTable(base, end);
  }

  /** A hash table with open addressing, for the names that the filter left. */
  private inTable(base: number, top: number): number {
    const { names } = this;
    const last = powerAbove(top - base) - 1;
    /** By slot: the position of a name on the stack, relative to the base and counted from 1. */
    const places = new Int32Array(last + 1);
    for (let at = base; at < top; at += NAME) {
      const hash = names[at] as number;
      let place = (hash >>> 7) & last;
      for (let other = places[place] as number; other !== 0; other = places[place] as number) {
        const known = base + other - 1;
        if (names[known] === hash && this.isSame(known, at)) return names[at + 1] as number;
        place = (place + 1) & last;
      }
      places[place] = at - base + 1;
    }
    return -1;
  }

  private isSame(one: number, other: number): boolean {
    const { bytes, names } = this;
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
