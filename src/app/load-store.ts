/** Opens the store that several processes share, only where it is configured: the library takes memory and time. */
import type { Config } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { StoreEngine } from '../store/engine.ts';

export async function loadStore(
  {
    store: { url, cluster, prefix = '' },
    seal: { key, previous = [] },
    limits,
  }: Pick<Config, 'store' | 'seal' | 'limits'>,
  log: Pick<Log, 'warn'>,
): Promise<StoreEngine | undefined> {
  // The config has no address without a key.
  if (url === undefined || key === undefined) return undefined;
  const { openRedisStore } = await import('../store/redis/open.ts');
  const { storeConnectMs: connectMs, storeCommandMs: commandMs } = limits;
  return openRedisStore(
    { url, ...(cluster && { cluster }), prefix, connectMs, commandMs },
    { secret: key, previous, limits, now: Date.now, warn: (text, facts) => log.warn(facts, text) },
  );
}
