/**
 * The names of one large object, as positions in its bytes. A hash table with open addressing; where names were made to
 * collide, or need decoding, they move into a Set, whose hashes nobody outside can predict. So no choice of names costs
 * more than a fixed factor.
 */
import { asBuffer } from './values.ts';

/** Powers of two: the table doubles when it is half full. */
const FIRST_CAPACITY = 64;
/** A half-full table of honest names needs a handful. */
const MOST_PROBES = 32;
/** Digest, start and end; an end of zero marks a free place. */
const ENTRY = 3;

export class NameTable {
  private readonly bytes: Uint8Array;
  private entries = new Int32Array(FIRST_CAPACITY * ENTRY);
  private capacity = FIRST_CAPACITY;
  private count = 0;
  private set: Set<string> | undefined = undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Notes a plain name, quotes excluded; true if it is there already. */
  add(start: number, end: number, hash: number): boolean {
    if (this.set !== undefined) return addTo(this.set, this.rawName(start, end));
    const { bytes, entries, capacity } = this;
    let place = hash & (capacity - 1);
    for (let probes = 0; probes < MOST_PROBES; probes++) {
      const at = place * ENTRY;
      const otherEnd = entries[at + 2] as number;
      if (otherEnd === 0) {
        entries[at] = hash;
        entries[at + 1] = start;
        entries[at + 2] = end;
        if (++this.count * 2 > capacity) this.grow();
        return false;
      }
      if (entries[at] === hash && sameBytes(bytes, entries[at + 1] as number, otherEnd, start, end)) return true;
      place = (place + 1) & (capacity - 1);
    }
    return addTo(this.toSet(), this.rawName(start, end));
  }

  /** The same for a name that has to be decoded; this span includes the quotes. */
  addDecoded(start: number, end: number): boolean {
    const name = JSON.parse(asBuffer(this.bytes).toString('utf8', start, end)) as string;
    return addTo(this.toSet(), `"${Buffer.from(name).toString('latin1')}`);
  }

  private grow(): void {
    const old = this.entries;
    this.capacity *= 2;
    this.entries = new Int32Array(this.capacity * ENTRY);
    this.count = 0;
    for (let at = 0; at < old.length; at += ENTRY) {
      const end = old[at + 2] as number;
      if (end !== 0) this.add(old[at + 1] as number, end, old[at] as number);
    }
  }

  private toSet(): Set<string> {
    if (this.set !== undefined) return this.set;
    const { entries } = this;
    const set = new Set<string>();
    for (let at = 0; at < entries.length; at += ENTRY) {
      const end = entries[at + 2] as number;
      if (end !== 0) set.add(this.rawName(entries[at + 1] as number, end));
    }
    this.set = set;
    return set;
  }

  /**
   * The bytes of a name as characters, which is faster than decoding and just as distinct. Its opening quote comes along:
   * names that look like array indexes would otherwise be hashed by their value, which anybody can make collide.
   */
  private rawName(start: number, end: number): string {
    return asBuffer(this.bytes).toString('latin1', start - 1, end);
  }
}

function addTo(set: Set<string>, name: string): boolean {
  const before = set.size;
  return set.add(name).size === before;
}

export function sameBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  otherStart: number,
  otherEnd: number,
): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  const offset = otherStart - start;
  for (let i = start; i < end; i++) if (bytes[i] !== bytes[i + offset]) return false;
  return true;
}
