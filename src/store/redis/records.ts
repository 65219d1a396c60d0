/** Records in Redis. Each operation is one script, and so is seen by all processes as a whole or not at all. */
import { canBeKey, checkRecord } from '../limits.ts';
import type { Records } from '../ports.ts';
import type { RedisArgument, RedisConnection } from './connection.ts';
import { getRecord, listKeys, takeRecord, writeRecord } from './record-scripts.ts';

/**
 * How much longer than its end Redis keeps a record: the end in the record decides, and clocks of processes may differ
 * by less than this.
 */
const GRACE_MS = 60_000;

/** UTF-8 has no such byte, so every key with a prefix is before the prefix and this byte. */
const BEYOND = Buffer.from([0xff]);

/** What must be there for a write: anything, no record, or the same value. */
type RecordCondition = 'any' | 'none' | { readonly same: string };

interface RecordChange {
  readonly value: string;
  readonly endsAt: number | undefined;
}

export class RedisRecords implements Records {
  readonly #connection: RedisConnection;
  readonly #now: () => number;
  readonly #close: () => Promise<void>;

  /** `close`: ends what shares the connection. */
  constructor(connection: RedisConnection, now: () => number, close: () => Promise<void>) {
    this.#connection = connection;
    this.#now = now;
    this.#close = close;
  }

  async get(collection: string, key: string): Promise<string | undefined> {
    if (!canBeKey(key)) return undefined;
    return textOf(await this.#connection.run(getRecord, this.#namesOf(collection, key), [key, this.#now()]));
  }

  async put(collection: string, key: string, value: string, endsAt?: number): Promise<void> {
    checkRecord(collection, key, value);
    await this.#write(collection, key, 'any', { value, endsAt });
  }

  async replace(...[collection, key, seen, value, endsAt]: Parameters<Records['replace']>): Promise<boolean> {
    if (value !== undefined) checkRecord(collection, key, value);
    if (!canBeKey(key)) return seen === undefined;
    const condition: RecordCondition = seen === undefined ? 'none' : { same: seen };
    return this.#write(collection, key, condition, value === undefined ? undefined : { value, endsAt });
  }

  async take(collection: string, key: string): Promise<string | undefined> {
    if (!canBeKey(key)) return undefined;
    return textOf(await this.#connection.run(takeRecord, this.#namesOf(collection, key), [key, this.#now()]));
  }

  async delete(collection: string, key: string): Promise<void> {
    if (canBeKey(key)) await this.#write(collection, key, 'any', undefined);
  }

  async keys(collection: string, prefix: string, most: number): Promise<readonly string[]> {
    if (!canBeKey(prefix) || most <= 0) return [];
    const tag = this.#tagOf(collection);
    const range = [`[${prefix}`, Buffer.concat([Buffer.from(`(${prefix}`), BEYOND])];
    const found = await this.#connection.run(listKeys, [`${tag}index`, `${tag}ends`], [...range, most, this.#now()]);
    return (found as unknown[]).map(String);
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** `change`: undefined deletes. Returns whether the condition was met. */
  async #write(
    collection: string,
    key: string,
    condition: RecordCondition,
    change: RecordChange | undefined,
  ): Promise<boolean> {
    const now = this.#now();
    const [must, seen] = typeof condition === 'string' ? [condition, ''] : ['same', condition.same];
    const args: RedisArgument[] = [key, now, must, seen];
    if (change === undefined) args.push('delete');
    else {
      const { value, endsAt = Number.POSITIVE_INFINITY } = change;
      const hasEnd = Number.isFinite(endsAt);
      const ttlMs = hasEnd ? Math.max(1, Math.ceil(endsAt - now)) + GRACE_MS : 0;
      args.push('set', value, hasEnd ? Math.ceil(endsAt) : 0, ttlMs, now - GRACE_MS);
    }
    const names = this.#namesOf(collection, key);
    return (await this.#connection.run(writeRecord, names, args, change?.value.length)) === 1;
  }

  #namesOf(collection: string, key: string): readonly string[] {
    const tag = this.#tagOf(collection);
    return [`${tag}record:${key}`, `${tag}index`, `${tag}ends`];
  }

  /** Everything of a collection is in one slot of a cluster. */
  #tagOf(collection: string): string {
    return `${this.#connection.settings.prefix}{of:${collection}}`;
  }
}

function textOf(reply: unknown): string | undefined {
  return typeof reply === 'string' ? reply : undefined;
}
