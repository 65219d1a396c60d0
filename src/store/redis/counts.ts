/**
 * Counts that gateways share: one script for each operation. Their names are hashed with the gateways' secret. Their
 * values are not sealed, because scripts count with them: a party that writes to Redis can loosen or tighten a limit.
 */
import { createHmac, randomUUID } from 'node:crypto';
import type { AttemptCounter, Bucket, SharedCounts, SlotRequest, TakenTokens } from '../counts.ts';
import { StoreError } from '../errors.ts';
import type { RedisConnection, RedisScript } from './connection.ts';
import { countAttempt, holdSlots, takeBackAttempts, takeTokens } from './count-scripts.ts';

/** Clients choose names that buckets are made for, so a bucket that fills more slowly is full after this time. */
const BUCKET_MS = 3_600_000;

export class RedisCounts implements SharedCounts {
  readonly #connection: RedisConnection;
  readonly #secret: string;
  readonly #member = randomUUID();

  constructor(connection: RedisConnection, secret: string) {
    this.#connection = connection;
    this.#secret = secret;
  }

  async take(key: string, { perSecond, capacity }: Bucket, most: number): Promise<TakenTokens> {
    const taken = await this.#connection.run(
      takeTokens,
      [this.#keyOf('rate:', key)],
      [perSecond, capacity, most, BUCKET_MS],
    );
    const [tokens, waitMs] = Array.isArray(taken) ? taken : [];
    return { tokens: wholeNumber(tokens, most), waitMs: wholeNumber(waitMs) };
  }

  async hold(key: string, { limit, used, wanted, ttlMs }: SlotRequest): Promise<number> {
    return this.#number(holdSlots, [this.#keyOf('slots:', key)], [this.#member, limit, used, wanted, ttlMs]);
  }

  async attempt(counters: readonly AttemptCounter[]): Promise<number> {
    const args = counters.flatMap(({ most, withinMs }) => [most, withinMs]);
    return this.#number(countAttempt, this.#keysOf(counters), args);
  }

  async takeBack(counters: readonly AttemptCounter[], forgotten: readonly AttemptCounter[] = []): Promise<void> {
    const changes = [...counters.map(() => 1), ...forgotten.map(() => 'all')];
    await this.#connection.run(takeBackAttempts, this.#keysOf([...counters, ...forgotten]), changes);
  }

  async #number(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<number> {
    return wholeNumber(await this.#connection.run(script, keys, args));
  }

  /** In one slot of a cluster: one script counts with several. */
  #keysOf(counters: readonly AttemptCounter[]): readonly string[] {
    return counters.map(({ kind, name }) => this.#keyOf('{attempts}:', JSON.stringify([kind, name])));
  }

  #keyOf(purpose: string, name: string): string {
    const hash = createHmac('sha256', this.#secret).update(purpose).update(name).digest('base64url');
    return `${this.#connection.settings.prefix}${purpose}${hash}`;
  }
}

function wholeNumber(value: unknown, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new StoreError('foreign', 'Redis answered with something that is no count');
}
