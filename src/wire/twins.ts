/**
 * Finds two members of one object with the same name, while the object is read. The names of a small object are compared
 * one by one, by their digests; one that grows gets a table of its own, which is asked when the object is done.
 */
import { NameTable } from './name-table.ts';
import { digest } from './words.ts';

/** Up to here comparing one by one is the cheaper way. */
const SMALL = 16;
/** In place of a count: the names are in a table; there are none, since an array is open. */
const IN_TABLE = -1;
const ARRAY = -2;

/**
 * A slot for each open object: count, filter, then digest, start and end of each name. The filter has a bit for each name
 * that is there: most new names find theirs unset and need no comparison at all.
 */
const FILTER = 1;
const NAMES = 2;
const NAME = 3;
const SLOT = NAMES + NAME * SMALL;

export class Twins {
  readonly depth: number;
  private readonly slots: Int32Array;
  /** By depth, for one object after the other. */
  private readonly tables: (NameTable | undefined)[] = [];

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

  /** Notes a name without escapes, quotes excluded; true if the object is known to have it already. */
  add(bytes: Uint8Array, view: DataView, depth: number, start: number, end: number): boolean {
    const { slots } = this;
    const slot = depth * SLOT;
    const count = slots[slot] as number;
    if (count === IN_TABLE || count === SMALL) {
      this.table(bytes, view, depth).add(start, end);
      return false;
    }
    const hash = digest(bytes, view, start, end);
    const first = slot + NAMES;
    const next = first + NAME * count;
    const bit = 1 << (hash & 31);
    const filter = slots[slot + FILTER] as number;
    if ((filter & bit) !== 0 && this.has(bytes, first, next, start, end, hash)) return true;
    slots[slot] = count + 1;
    slots[slot + FILTER] = filter | bit;
    slots[next] = hash;
    slots[next + 1] = start;
    slots[next + 2] = end;
    return false;
  }

  /** Notes a name with escapes. */
  addDecoded(bytes: Uint8Array, view: DataView, depth: number, start: number, end: number): void {
    this.table(bytes, view, depth).addDecoded(start, end);
  }

  /** The object at that depth is done: whether two of its names are the same and nobody was told so. */
  closeObject(depth: number): boolean {
    return this.slots[depth * SLOT] === IN_TABLE && (this.tables[depth] as NameTable).hasTwins();
  }

  /** Forgets what large objects left behind. */
  clear(): void {
    if (this.tables.length > 0) this.tables.length = 0;
  }

  private has(bytes: Uint8Array, first: number, next: number, start: number, end: number, hash: number): boolean {
    const { slots } = this;
    for (let at = first; at < next; at += NAME) {
      if (slots[at] !== hash) continue;
      if (sameBytes(bytes, slots[at + 1] as number, slots[at + 2] as number, start, end)) return true;
    }
    return false;
  }

  /** The object's table, with the names so far where they are not in it yet. */
  private table(bytes: Uint8Array, view: DataView, depth: number): NameTable {
    const { slots, tables } = this;
    const slot = depth * SLOT;
    const count = slots[slot] as number;
    const known = tables[depth];
    if (count === IN_TABLE && known !== undefined) return known;
    known?.reset();
    const table = known ?? new NameTable(bytes, view);
    for (let at = slot + NAMES; at < slot + NAMES + NAME * count; at += NAME) {
      table.add(slots[at + 1] as number, slots[at + 2] as number);
    }
    tables[depth] = table;
    slots[slot] = IN_TABLE;
    return table;
  }
}

function sameBytes(bytes: Uint8Array, start: number, end: number, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  const offset = otherStart - start;
  for (let i = start; i < end; i++) if (bytes[i] !== bytes[i + offset]) return false;
  return true;
}
