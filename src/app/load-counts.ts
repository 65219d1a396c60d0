/** Opens the counts that several processes share: in the store, or else at the primary process of the workers. */
import type { Clock } from '../exchange/clock.ts';
import type { Log } from '../observe/log.ts';
import type { StoreEngine } from '../store/engine.ts';
import type { Counts } from './counts.ts';
import type { WorkerPlace } from './worker-share.ts';

export interface LoadCountsOptions {
  readonly store: Pick<StoreEngine, 'counts'> | undefined;
  readonly worker: WorkerPlace | undefined;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Processes that share the limits, as far as it is known. By default the workers of this machine. */
  readonly members?: () => number;
}

/** Undefined where this process is the only one. */
export async function loadCounts(options: LoadCountsOptions): Promise<Counts | undefined> {
  const { store, worker, clock, log, members = () => worker?.of ?? 1 } = options;
  if (store === undefined && worker === undefined) return undefined;
  const { countsAtPrimary, sharedCounts } = await import('./shared-counts.ts');
  const warn = (text: string, facts: Readonly<Record<string, unknown>>) => log.warn(facts, text);
  return sharedCounts({ shared: store?.counts ?? countsAtPrimary(), members, clock, warn });
}
