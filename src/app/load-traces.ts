/** Loads what makes and sends traces, only where they are configured: OpenTelemetry takes 5 MB of memory. */
import type { Config } from '../config/config.ts';
import { CoalescedLog } from '../observe/coalesced.ts';
import type { Counters } from '../observe/counters.ts';
import type { Log } from '../observe/log.ts';
import type { Traces } from '../observe/traces/open.ts';
import { systemClock } from './clock.ts';

export async function loadTraces(
  { traces }: Pick<Config, 'traces'>,
  { log, counters }: { readonly log: Log; readonly counters: Counters },
): Promise<Traces | undefined> {
  if (traces === undefined) return undefined;
  const { openTraces } = await import('../observe/traces/open.ts');
  const after = (ms: number, action: () => void) => systemClock.after(ms, action);
  return openTraces(traces, { counters, log: new CoalescedLog({ log, after }) });
}
