/**
 * Finds two members of one object with the same name, while the object is read. The names of a small object are compared
 * one by one; those of one that grows, or has an escaped name, go into a Set. So neither many names nor names made to
 * collide cost more than a fixed factor.
 */
import { asBuffer } from './values.ts';

/** Up to here comparing one by one is the cheaper way. */
const SMALL = 16;
/** In place of a count: the names are in a Set; there are no names, since an array is open. */
const IN_SET = -1;
const ARRAY = -2;

/**
 * A slot for each open object: count, filter, then start and end of each name. The filter has a bit for each name that
 * is there, by a cheap digest: most new names find their bit unset and need no comparison at all.
 */
const FILTER = 1;
const NAMES = 2;
const SLOT = NAMES + 2 * SMALL;

export class Twins {
  readonly depth: number;
  private readonly slots: Int32Array;
  private readonly sets: Set<string>[] = [];

  constructor(depth: number) {
    this.depth = depth;
    this.slots = new Int32Array((depth + 1) * SLOT);
  }

  openObject(depth: number): void {
    this.slots[depth * SLOT] = 0;
    this.slots[depth * SLOT + FILTER] = 0;
  }

  openArray(depth: number): void {
    this.slots[depth * SLOT] = ARRAY;
  }

  isArray(depth: number): boolean {
    return this.slots[depth * SLOT] === ARRAY;
  }

  /** Notes a name, quotes excluded, that has no escapes; true if the object has it already. */
  add(bytes: Uint8Array, depth: number, start: number, end: number): boolean {
    const { slots } = this;
    const slot = depth * SLOT;
    const count = slots[slot] as number;
    if (count === IN_SET || count === SMALL) return this.addToSet(bytes, depth, rawName(bytes, start, end));
    const first = slot + NAMES;
    const next = first + 2 * count;
    const bit = 1 << (((bytes[start] as number) * 5 + (bytes[end - 1] as number) * 3 + end - start) & 31);
    const filter = slots[slot + FILTER] as number;
    if ((filter & bit) !== 0 && this.has(bytes, first, next, start, end)) return true;
    slots[slot] = count + 1;
    slots[slot + FILTER] = filter | bit;
    slots[next] = start;
    slots[next + 1] = end;
    return false;
  }

  /** The same for a name that has to be decoded; this span includes the quotes. */
  addDecoded(bytes: Uint8Array, depth: number, start: number, end: number): boolean {
    const name = JSON.parse(asBuffer(bytes).toString('utf8', start, end)) as string;
    return this.addToSet(bytes, depth, `"${Buffer.from(name).toString('latin1')}`);
  }

  /** Forgets what large objects left behind. */
  clear(): void {
    if (this.sets.length > 0) this.sets.length = 0;
  }

  private has(bytes: Uint8Array, first: number, next: number, start: number, end: number): boolean {
    const { slots } = this;
    const length = end - start;
    for (let at = first; at < next; at += 2) {
      const other = slots[at] as number;
      if ((slots[at + 1] as number) - other !== length) continue;
      let i = 0;
      while (i < length && bytes[other + i] === bytes[start + i]) i++;
      if (i === length) return true;
    }
    return false;
  }

  private addToSet(bytes: Uint8Array, depth: number, name: string): boolean {
    const { slots, sets } = this;
    const slot = depth * SLOT;
    const count = slots[slot] as number;
    if (count !== IN_SET) {
      const names = new Set<string>();
      for (let at = slot + NAMES; at < slot + NAMES + 2 * count; at += 2) {
        names.add(rawName(bytes, slots[at] as number, slots[at + 1] as number));
      }
      sets[depth] = names;
      slots[slot] = IN_SET;
    }
    const names = sets[depth] as Set<string>;
    const before = names.size;
    return names.add(name).size === before;
  }
}

/**
 * The bytes of a name as characters, which is faster than decoding and just as distinct. Its opening quote comes along:
 * names that look like array indexes would otherwise be hashed by their value, which anybody can make collide.
 */
function rawName(bytes: Uint8Array, start: number, end: number): string {
  return asBuffer(bytes).toString('latin1', start - 1, end);
}
