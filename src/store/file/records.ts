/**
 * Records in a file. A write is on the disk when its promise resolves, and visible to every process of this machine.
 */
import { StoreError, type StoreWarn } from '../errors.ts';
import { canBeKey, checkRecord } from '../limits.ts';
import type { Records } from '../ports.ts';
import { countOf, type FileEngine } from './engine.ts';
import {
  decodeEntry,
  encodeEntry,
  endNameOf,
  endOf,
  headOf,
  keyOf,
  nameIn,
  nameOf,
  rangeOf,
  type StoredEntry,
} from './layout.ts';

/**
 * LMDB counts the records itself. The grants of a million clients take a gigabyte or two; a file is the wrong store for
 * more.
 */
const DEFAULTS = { records: 1_000_000 };
export type FileRecordsLimits = Readonly<typeof DEFAULTS>;

/** The value of index entries: the name has everything. */
const EMPTY = Buffer.alloc(0);

export class FileRecords implements Records {
  readonly #engine: FileEngine;
  readonly #now: () => number;
  readonly #limits: FileRecordsLimits;
  #stopSweeping: () => void = () => undefined;

  constructor(engine: FileEngine, now: () => number, limits: FileRecordsLimits = DEFAULTS) {
    this.#engine = engine;
    this.#now = now;
    this.#limits = limits;
  }

  async get(collection: string, key: string): Promise<string | undefined> {
    if (!canBeKey(key)) return undefined;
    return this.#engine.read(() => this.#live(nameOf(collection, key))?.value);
  }

  async put(collection: string, key: string, value: string, endsAt?: number): Promise<void> {
    checkRecord(collection, key, value);
    const full = await this.#engine.write(() => this.#set(collection, key, value, endsAt));
    if (full) throw fullError(this.#limits);
  }

  async replace(...[collection, key, seen, value, endsAt]: Parameters<Records['replace']>): Promise<boolean> {
    if (value !== undefined) checkRecord(collection, key, value);
    if (!canBeKey(key)) return seen === undefined;
    const name = nameOf(collection, key);
    const outcome = await this.#engine.write(() => {
      if (this.#live(name)?.value !== seen) return { replaced: false, full: false };
      if (value !== undefined) return { replaced: true, full: this.#set(collection, key, value, endsAt) };
      this.#remove(name);
      return { replaced: true, full: false };
    });
    if (outcome.full) throw fullError(this.#limits);
    return outcome.replaced;
  }

  async take(collection: string, key: string): Promise<string | undefined> {
    if (!canBeKey(key)) return undefined;
    const name = nameOf(collection, key);
    return this.#engine.write(() => {
      const value = this.#live(name)?.value;
      this.#remove(name);
      return value;
    });
  }

  async delete(collection: string, key: string): Promise<void> {
    if (!canBeKey(key)) return;
    const name = nameOf(collection, key);
    await this.#engine.write(() => this.#remove(name));
  }

  async keys(collection: string, prefix: string, most: number): Promise<readonly string[]> {
    if (!canBeKey(prefix) || most <= 0) return [];
    return this.#engine.read(() => this.#find(collection, prefix, most));
  }

  /** Removes up to `most` expired records, the earliest first. Returns their number. */
  async sweep(most: number): Promise<number> {
    return this.#engine.write(() => {
      const now = this.#now();
      const ended: Buffer[] = [];
      for (const endName of this.#engine.ends.getKeys({ limit: most })) {
        if (endOf(endName) > now) break;
        ended.push(Buffer.from(endName));
      }
      for (const endName of ended) {
        this.#engine.ends.removeSync(endName);
        this.#engine.records.removeSync(nameIn(endName));
      }
      return ended.length;
    });
  }

  /** Reports failures in the background to `warn`. */
  beginSweeping(warn: StoreWarn): void {
    this.#stopSweeping();
    this.#stopSweeping = startSweeping(this, warn);
  }

  close(): Promise<void> {
    this.#stopSweeping();
    return this.#engine.close();
  }

  #entry(name: Buffer): StoredEntry | undefined {
    const bytes = this.#engine.records.get(name);
    return bytes === undefined ? undefined : decodeEntry(bytes);
  }

  #live(name: Buffer): StoredEntry | undefined {
    const entry = this.#entry(name);
    return entry === undefined || entry.endsAt <= this.#now() ? undefined : entry;
  }

  /**
   * Returns whether the store is full. Throwing inside of a transaction would undo the writes of other callers in it.
   */
  #set(collection: string, key: string, value: string, endsAt = Number.POSITIVE_INFINITY): boolean {
    const { records, ends } = this.#engine;
    const name = nameOf(collection, key);
    const before = this.#entry(name);
    if (before === undefined && countOf(records) >= this.#limits.records) return true;
    if (before !== undefined && Number.isFinite(before.endsAt)) ends.removeSync(endNameOf(before.endsAt, name));
    records.putSync(name, encodeEntry(key, value, endsAt));
    if (Number.isFinite(endsAt)) ends.putSync(endNameOf(endsAt, name), EMPTY);
    return false;
  }

  #remove(name: Buffer): void {
    const before = this.#entry(name);
    if (before !== undefined && Number.isFinite(before.endsAt))
      this.#engine.ends.removeSync(endNameOf(before.endsAt, name));
    this.#engine.records.removeSync(name);
  }

  /** Long keys with the same start are stored in the order of their hashes: collect them, then sort them. */
  #find(collection: string, prefix: string, most: number): string[] {
    const start = rangeOf(collection, prefix);
    const now = this.#now();
    const found: string[] = [];
    let together: { readonly head: Buffer; readonly keys: string[] } | undefined;
    const settle = () => {
      found.push(...(together?.keys.sort(byBytes) ?? []));
      together = undefined;
    };
    for (const { key: name, value } of this.#engine.records.getRange({ start })) {
      if (!name.subarray(0, start.length).equals(start)) break;
      const head = headOf(collection, name);
      if (together !== undefined && head?.equals(together.head) !== true) settle();
      if (found.length >= most) break;
      const entry = decodeEntry(value);
      if (entry === undefined || entry.endsAt <= now) continue;
      const key = keyOf(collection, name, entry);
      if (!key.startsWith(prefix)) continue;
      if (head === undefined) found.push(key);
      else {
        together ??= { head: Buffer.from(head), keys: [] };
        together.keys.push(key);
      }
    }
    settle();
    return found.slice(0, most);
  }
}

function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function fullError({ records }: FileRecordsLimits): StoreError {
  return new StoreError('full', `the file store has reached its limit of ${records} records`);
}

const SWEEP_EVERY_MS = 10_000;

/** A transaction of a few milliseconds. If more records have expired, the next one follows after other writes. */
const SWEPT_AT_ONCE = 500;

/**
 * Removes expired records in the background, a few at a time: every write blocks the writes of all other processes.
 * Returns the function that stops it. Does not keep the process alive.
 */
function startSweeping(records: FileRecords, warn: StoreWarn): () => void {
  let stopped = false;
  let sweeping = false;
  let failed = false;
  const sweep = async () => {
    if (sweeping) return;
    sweeping = true;
    try {
      while ((await records.sweep(SWEPT_AT_ONCE)) === SWEPT_AT_ONCE && !stopped);
      failed = false;
    } catch (error) {
      // Warn once, not every time: a full disk stays full for a while.
      if (!failed && !stopped) warn('expired records cannot be removed', { why: String(error) });
      failed = true;
    } finally {
      sweeping = false;
    }
  };
  const timer = setInterval(() => void sweep(), SWEEP_EVERY_MS);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
