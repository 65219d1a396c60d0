/** Loads the proxy, only where it is configured. */
import type { SideEntrance } from '../downstream/listener.ts';
import type { Log } from '../observe/log.ts';
import type { Assembled } from './assemble.ts';
import { systemClock } from './clock.ts';

export async function loadProxy({ config, currentGeneration }: Assembled, log: Log): Promise<SideEntrance | undefined> {
  const { proxy, limits, store } = config;
  if (proxy === undefined) return undefined;
  const [{ proxyEntrance }, { caReader }] = await Promise.all([import('../proxy/open.ts'), import('./proxy-ca.ts')]);
  return proxyEntrance(proxy, {
    ...{ currentGeneration, limits, ca: caReader(store.dir) },
    time: { now: Date.now, after: (ms, action) => systemClock.after(ms, action) },
    warn: (text, facts) => log.warn(facts ?? {}, text),
  });
}
