/** Opens the store in Redis or Valkey: a file of its own in the bundle, loaded where `store.url` is configured. */
import type { StoreEngine } from '../engine.ts';
import type { StoreWarn } from '../errors.ts';
import { createSealFor, openingWith } from '../seal.ts';
import { RedisBus } from './bus.ts';
import { RedisConnection } from './connection.ts';
import { RedisCounts } from './counts.ts';
import { StoreEpoch } from './epoch.ts';
import { RedisEventLog, type RedisEventLogLimits } from './event-log.ts';
import { RedisLease } from './lease.ts';
import { RedisRecords } from './records.ts';
import type { RedisSettings } from './settings.ts';

export interface RedisStoreOptions {
  /** The same at all processes that share the store. */
  readonly secret: string;
  /** Earlier secrets: what was sealed with one of them still opens. */
  readonly previous: readonly string[];
  readonly limits: RedisEventLogLimits;
  /** The time of day, in milliseconds since 1970. */
  readonly now: () => number;
  readonly warn: StoreWarn;
}

/**
 * Never rejects: where Redis cannot be reached in time, the store is opened without it, and uses it as soon as it is
 * there.
 */
export async function openRedisStore(
  settings: RedisSettings,
  { secret, previous, limits, now, warn }: RedisStoreOptions,
): Promise<StoreEngine> {
  const sealFor = (port: string) => {
    const sealWith = (key: string) => createSealFor(`redis ${port}`, key);
    return openingWith(sealWith(secret), previous.map(sealWith));
  };
  const connection = new RedisConnection(settings, warn);
  const epoch = new StoreEpoch(connection, sealFor('epoch'), warn);
  const bus = new RedisBus(connection, sealFor('bus'));
  const close = async () => {
    epoch.close();
    bus.close();
    await connection.close();
  };
  await connection.firstReady();
  return {
    records: new RedisRecords(connection, now, close),
    events: new RedisEventLog(connection, limits, { seal: sealFor('events'), warn }),
    bus,
    lease: new RedisLease(connection, sealFor('lease')),
    onReady: (listener) => connection.onReady(listener),
    counts: new RedisCounts(connection, secret),
    get epoch() {
      return epoch.current;
    },
  };
}
