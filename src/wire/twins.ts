/**
 * Finds two members of one object with the same name, while the object is read. The names of a small object are compared
 * one by one, by their digests; one that grows gets a table of its own.
 */
import { NameTable, sameBytes } from './name-table.ts';
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
  private readonly tables: NameTable[] = [];

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

  /** Notes a plain name, quotes excluded; true if the object has it already. */
  add(bytes: Uint8Array, view: DataView, depth: number, start: number, end: number): boolean {
    const { slots } = this;
    const slot = depth * SLOT;
    const count = slots[slot] as number;
    const hash = digest(bytes, view, start, end);
    if (count === IN_TABLE || count === SMALL) return this.table(bytes, depth).add(start, end, hash);
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

  /** The same for a name with escapes, or with characters of several bytes. */
  addDecoded(bytes: Uint8Array, depth: number, start: number, end: number): boolean {
    return this.table(bytes, depth).addDecoded(start, end);
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

  /** The object's table, made of the names so far where it has none yet. */
  private table(bytes: Uint8Array, depth: number): NameTable {
    const { slots, tables } = this;
    const slot = depth * SLOT;
    const count = slots[slot] as number;
    if (count === IN_TABLE) return tables[depth] as NameTable;
    const table = new NameTable(bytes);
    for (let at = slot + NAMES; at < slot + NAMES + NAME * count; at += NAME) {
      table.add(slots[at + 1] as number, slots[at + 2] as number, slots[at] as number);
    }
    tables[depth] = table;
    slots[slot] = IN_TABLE;
    return table;
  }
}
