/** What clients of replicas have to bear, because the campaign caused it. Everything else is a defect. */
import { SERVED_BY } from '../redis/balancer.ts';
import type { World } from './clients.ts';
import type { Stage } from './stage.ts';

/** Sessions may end when they were idle for almost as long as the config of the campaign allows. */
const IDLE_MS = 12_000;
/** The same for a process of a stdio backend. */
const PROCESS_IDLE_MS = 4_000;
/** What happened this long before may still have its effect: a lease, a drain, a call's time limit. */
const EFFECT_MS = 40_000;

export function excuses({ group }: Stage): Pick<World, 'excuse' | 'forgets' | 'mayBeGone'> {
  if (group === undefined) return { excuse: () => undefined, forgets: () => false, mayBeGone: () => true };
  return {
    excuse: ({ headers }) => {
      const name = headers[SERVED_BY];
      return typeof name === 'string' && group.wasKilled(name) ? 'killed with its replica' : undefined;
    },
    forgets: (since) => since < group.storeTroubledAt + EFFECT_MS,
    mayBeGone: (path, { openedAt, usedAt }) => {
      const idleMs = Date.now() - usedAt;
      if (idleMs > IDLE_MS) return true;
      // A session from before the loss has no record that another replica could continue it by.
      if (openedAt < group.dataLostAt) return true;
      // The process of a stdio backend keeps state.
      const isBound = path === '/mcp' || path.includes('stdio');
      return isBound && (idleMs > PROCESS_IDLE_MS || Date.now() - group.troubledAt < EFFECT_MS);
    },
  };
}
