/** Stores in Redis for one test, closed afterwards. */
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { StoreEngine } from '../../src/store/engine.ts';
import type { StoreWarn } from '../../src/store/errors.ts';
import { openRedisStore, type RedisStoreOptions } from '../../src/store/redis/open.ts';
import type { RedisSettings } from '../../src/store/redis/settings.ts';

export const usualLimits = {
  eventsPerStream: 1000,
  eventBytesPerStream: 1024 * 1024,
  sessionMaxMs: 60_000,
};

export const newPrefix = () => `test:${randomUUID()}:`;

export interface StoreRequest extends Partial<RedisStoreOptions> {
  readonly settings: Partial<RedisSettings> & { readonly url: string };
}

export async function openTestStore({ settings, ...options }: StoreRequest): Promise<StoreEngine> {
  const warn: StoreWarn = () => undefined;
  const store = await openRedisStore(
    { prefix: newPrefix(), connectMs: 5_000, commandMs: 20_000, ...settings },
    {
      ...{ secret: 'a secret of the tests, of some length', previous: [], limits: usualLimits, now: Date.now, warn },
      ...options,
    },
  );
  onTestFinished(() => store.records.close());
  return store;
}
