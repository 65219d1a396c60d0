/** Logs when the process runs out of file descriptors: once at first, then once a minute while it lasts. */
import { onOutOfDescriptors } from '../upstream/descriptors.ts';
import { CoalescedLog } from './coalesced.ts';
import type { Counters } from './counters.ts';
import type { Log } from './log.ts';
import type { WallClock } from './ports.ts';

const TEXT = 'out of file descriptors: raise `ulimit -n` or LimitNOFILE=, or lower limits.connectionsTotal';

/** Returns a function that stops watching. */
export function watchDescriptors(log: Log, counters: Counters, after: WallClock['after']): () => void {
  const coalesced = new CoalescedLog({ log, after });
  return onOutOfDescriptors((wanted) => {
    counters.count(`gateway.out_of_descriptors.${wanted}`);
    coalesced.tell('error', wanted, { wanted }, TEXT);
  });
}
