/** Opens the counts that several processes share: in the store, or else at the primary process of the workers. */
import { type AskPrimary, CountsAtPrimary } from '../cluster/primary-counts.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Log } from '../observe/log.ts';
import type { StoreEngine } from '../store/engine.ts';
import type { Counts } from './counts.ts';
import type { WorkerPlace } from './worker-share.ts';

export interface LoadCountsOptions {
  readonly store: Pick<StoreEngine, 'counts'> | undefined;
  readonly worker: WorkerPlace | undefined;
  /** How a worker asks the primary process. */
  readonly primary?: AskPrimary | undefined;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Processes that share the limits, as far as it is known. By default the workers of this machine. */
  readonly members?: (() => number) | undefined;
}

/** Undefined where this process is the only one. */
export async function loadCounts(options: LoadCountsOptions): Promise<Counts | undefined> {
  const { store, worker, primary, clock, log, members = () => worker?.of ?? 1 } = options;
  const shared = store?.counts ?? (primary && new CountsAtPrimary(primary));
  if (shared === undefined) return undefined;
  const { sharedCounts } = await import('./shared-counts.ts');
  const warn = (text: string, facts: Readonly<Record<string, unknown>>) => log.warn(facts, text);
  return sharedCounts({ shared, members, clock, warn });
}
