/** Records in memory, which are lost with the process. */
import { StoreError } from '../../src/store/errors.ts';
import { canBeKey, checkRecord } from '../../src/store/limits.ts';
import type { Records } from '../../src/store/ports.ts';

export interface MemoryRecordsLimits {
  /** Bytes of all keys and values together. */
  readonly totalBytes: number;
}

/** Tens of thousands of grants; more belong in a file. */
const DEFAULTS: MemoryRecordsLimits = { totalBytes: 64 * 1024 * 1024 };

/** The cost of a record besides its texts. */
const RECORD_BYTES = 128;

/** Records that each write checks for expiry: more than a write adds, so that expired records never pile up. */
const SWEPT_PER_WRITE = 8;

interface MemoryRecord {
  readonly value: string;
  readonly endsAt: number;
}

export class MemoryRecords implements Records {
  readonly #now: () => number;
  readonly #limits: MemoryRecordsLimits;
  readonly #kept = new Map<string, MemoryRecord>();
  /** Iterates in a circle; a Map's iterator also visits entries that are added later. */
  #sweeping = this.#kept.entries();
  #bytes = 0;

  /** `now` is the time of day, like `endsAt`. */
  constructor(now: () => number, limits: MemoryRecordsLimits = DEFAULTS) {
    this.#now = now;
    this.#limits = limits;
  }

  /** The number of records, including expired ones. */
  get size(): number {
    return this.#kept.size;
  }

  async get(collection: string, key: string): Promise<string | undefined> {
    return this.#read(nameOf(collection, key));
  }

  async put(collection: string, key: string, value: string, endsAt?: number): Promise<void> {
    checkRecord(collection, key, value);
    this.#write(nameOf(collection, key), { value, endsAt: endsAt ?? Number.POSITIVE_INFINITY });
  }

  async replace(
    collection: string,
    key: string,
    seen: string | undefined,
    value: string | undefined,
    endsAt?: number,
  ): Promise<boolean> {
    if (value !== undefined) checkRecord(collection, key, value);
    const name = nameOf(collection, key);
    if (this.#read(name) !== seen) return false;
    if (value === undefined) this.#drop(name);
    else this.#write(name, { value, endsAt: endsAt ?? Number.POSITIVE_INFINITY });
    return true;
  }

  async take(collection: string, key: string): Promise<string | undefined> {
    const name = nameOf(collection, key);
    const value = this.#read(name);
    this.#drop(name);
    return value;
  }

  async delete(collection: string, key: string): Promise<void> {
    this.#drop(nameOf(collection, key));
  }

  async keys(collection: string, prefix: string, most: number): Promise<readonly string[]> {
    if (!canBeKey(prefix)) return [];
    const start = nameOf(collection, prefix);
    const now = this.#now();
    const found: string[] = [];
    for (const [name, { endsAt }] of this.#kept)
      if (endsAt > now && name.startsWith(start)) found.push(name.slice(collection.length + 1));
    return found.sort(byBytes).slice(0, most);
  }

  async close(): Promise<void> {
    // Nothing to do.
  }

  #read(name: string): string | undefined {
    const kept = this.#kept.get(name);
    return kept === undefined || kept.endsAt <= this.#now() ? undefined : kept.value;
  }

  #write(name: string, kept: MemoryRecord): void {
    this.#sweep(SWEPT_PER_WRITE);
    const before = this.#kept.get(name);
    const growth = costOf(name, kept) - (before === undefined ? 0 : costOf(name, before));
    if (this.#bytes + growth > this.#limits.totalBytes) {
      // One more than the size: restarting the iterator counts as a step.
      this.#sweep(this.#kept.size + 1);
      if (this.#bytes + growth > this.#limits.totalBytes)
        throw new StoreError('full', 'the records in memory have reached their limit: configure a directory for them');
    }
    this.#drop(name);
    this.#kept.set(name, kept);
    this.#bytes += costOf(name, kept);
  }

  #drop(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#kept.delete(name);
    this.#bytes -= costOf(name, kept);
  }

  #sweep(most: number): void {
    const now = this.#now();
    for (let looked = 0; looked < most; looked++) {
      const next = this.#sweeping.next();
      if (next.done === true) {
        this.#sweeping = this.#kept.entries();
        continue;
      }
      const [name, { endsAt }] = next.value;
      if (endsAt <= now) this.#drop(name);
    }
  }
}

/** A collection's name has no NUL, so no two records share a name. */
function nameOf(collection: string, key: string): string {
  return `${collection}\0${key}`;
}

function costOf(name: string, { value }: MemoryRecord): number {
  return Buffer.byteLength(name) + Buffer.byteLength(value) + RECORD_BYTES;
}

/** The order of the file store, so that callers do not depend on the store. */
function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
