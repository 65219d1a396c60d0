/**
 * The names of one large object. Each leaves a bit in a filter; the few whose bit is set already are compared when the object
 * is done. A table of names would be a hundred times as large as the filter, and slow for being out of the caches. The hash is
 * keyed, so that nobody can choose names that meet in the filter.
 */
import { keyedHash } from './keyed-hash.ts';
import { utf8Into } from './unescape.ts';

/** Both grow by doubling. */
const FIRST_NAMES = 64;
const FIRST_BITS = 2048;
/** Fewer would make more names meet, more would make the filter larger than a cache. */
const BITS_PER_NAME = 8;
/** What grew beyond this is not kept for the next object. */
const REUSED_NAMES = 4096;
/** Stands behind a decoded name. No UTF-8 has it. */
const END = 0xff;
const QUOTE = 0x22;

export class NameTable {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  /** In the order of their coming: the hash of each name, and where it begins. */
  private hashes = new Int32Array(FIRST_NAMES);
  private starts = new Int32Array(FIRST_NAMES);
  private count = 0;
  private filter = new Int32Array(FIRST_BITS >> 5);
  private mask = FIRST_BITS - 1;
  /** The bits that more than one name has; none while there is no such bit. */
  private met: Int32Array | undefined = undefined;
  /** Decoded names. Their positions begin where those of the document end. */
  private decoded: Buffer | undefined = undefined;
  private decodedView: DataView | undefined = undefined;
  private decodedEnd = 0;

  constructor(bytes: Uint8Array, view: DataView) {
    this.bytes = bytes;
    this.view = view;
  }

  /** Empty again, for another object of the document. */
  reset(): void {
    if (this.hashes.length > REUSED_NAMES) {
      this.hashes = new Int32Array(FIRST_NAMES);
      this.starts = new Int32Array(FIRST_NAMES);
      this.filter = new Int32Array(FIRST_BITS >> 5);
      this.mask = FIRST_BITS - 1;
    } else this.filter.fill(0);
    this.met = undefined;
    this.count = 0;
    this.decodedEnd = 0;
  }

  /** Notes a name without escapes, quotes excluded. */
  add(start: number, end: number): void {
    this.put(start, keyedHash(this.bytes, this.view, start, end));
  }

  /** The same for a name with escapes. */
  addDecoded(start: number, end: number): void {
    const at = this.decodedEnd;
    const room = this.room(end - start + 1);
    const stop = utf8Into(room, at, this.bytes, start, end);
    room[stop] = END;
    this.decodedEnd = stop + 1;
    this.put(this.bytes.byteLength + at, keyedHash(room, this.decodedView as DataView, at, stop));
  }

  /** Whether two of the names are the same. */
  hasTwins(): boolean {
    const { met, mask } = this;
    if (met === undefined) return false;
    // First those that have a bit in common with another, then those among them with the same hash.
    const { hashes, starts, count } = this;
    let suspects = 0;
    for (let n = 0; n < count; n++) {
      const hash = hashes[n] as number;
      if (((met[(hash & mask) >> 5] as number) & (1 << (hash & 31))) === 0) continue;
      hashes[suspects] = hash;
      starts[suspects++] = starts[n] as number;
    }
    return this.compare(suspects);
  }

  /** Of the first so many names. */
  private compare(suspects: number): boolean {
    const { hashes, starts } = this;
    const last = (1 << (33 - Math.clz32(suspects))) - 1;
    /** By place: the number of a name, from 1. */
    const places = new Int32Array(last + 1);
    for (let n = 0; n < suspects; n++) {
      const hash = hashes[n] as number;
      let place = (hash >>> 7) & last;
      for (let other = places[place] as number; other !== 0; other = places[place] as number) {
        if (hashes[other - 1] === hash && this.isSame(starts[other - 1] as number, starts[n] as number)) return true;
        place = (place + 1) & last;
      }
      places[place] = n + 1;
    }
    return false;
  }

  private put(start: number, hash: number): void {
    const n = this.count++;
    if (n === this.hashes.length) this.growNames();
    this.hashes[n] = hash;
    this.starts[n] = start;
    if (n * BITS_PER_NAME > this.mask) this.growFilter();
    this.mark(hash);
  }

  private mark(hash: number): void {
    const { filter } = this;
    const at = hash & this.mask;
    const word = filter[at >> 5] as number;
    const bit = 1 << (at & 31);
    if ((word & bit) === 0) filter[at >> 5] = word | bit;
    else {
      this.met ??= new Int32Array(filter.length);
      this.met[at >> 5] = (this.met[at >> 5] as number) | bit;
    }
  }

  private growNames(): void {
    const size = this.hashes.length * 2;
    const { hashes, starts } = this;
    this.hashes = new Int32Array(size);
    this.hashes.set(hashes);
    this.starts = new Int32Array(size);
    this.starts.set(starts);
  }

  /** The name that is being put is not in it yet. */
  private growFilter(): void {
    const bits = (this.mask + 1) * 4;
    this.filter = new Int32Array(bits >> 5);
    this.mask = bits - 1;
    this.met = undefined;
    for (let n = 0; n < this.count - 1; n++) this.mark(this.hashes[n] as number);
  }

  /** A name ends with a quote in the document, and with its own mark where it was decoded. */
  private isSame(one: number, other: number): boolean {
    const limit = this.bytes.byteLength;
    const oneEnd = one < limit ? QUOTE : END;
    const otherEnd = other < limit ? QUOTE : END;
    for (let i = 0; ; i++) {
      const a = this.byteAt(one + i);
      const b = this.byteAt(other + i);
      if (a === oneEnd || b === otherEnd) return a === oneEnd && b === otherEnd;
      if (a !== b) return false;
    }
  }

  private byteAt(position: number): number {
    const limit = this.bytes.byteLength;
    return (position < limit ? this.bytes[position] : this.decoded?.[position - limit]) ?? END;
  }

  private room(size: number): Buffer {
    const { decoded } = this;
    if (decoded !== undefined && this.decodedEnd + size <= decoded.byteLength) return decoded;
    const larger = Buffer.allocUnsafeSlow(Math.max(1024, 2 * (this.decodedEnd + size)));
    decoded?.copy(larger, 0, 0, this.decodedEnd);
    this.decoded = larger;
    this.decodedView = new DataView(larger.buffer, larger.byteOffset, larger.byteLength);
    return larger;
  }
}
