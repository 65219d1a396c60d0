/**
 * What is each worker's own: its part of the calls that may run at the same time, and of the ended sessions that are
 * remembered. Workers do not ask each other with every call, so each has its part of these limits.
 */
import type { Seat } from '../cluster/seat.ts';
import type { RateSettings } from '../policy/rates.ts';
import type { EndedSessionLimits } from '../session/ended-sessions.ts';

/** Which worker this is, and of how many. */
export type WorkerPlace = Pick<Seat, 'number' | 'of'>;

export function shareOfConcurrency(rates: readonly RateSettings[], { of }: WorkerPlace): readonly RateSettings[] {
  return rates.map(({ concurrent, ...rate }) => ({
    ...rate,
    ...(concurrent !== undefined && { concurrent: shareOf(concurrent, of) }),
  }));
}

export function shareOfEnded(limits: EndedSessionLimits, { of }: WorkerPlace): EndedSessionLimits {
  const { endedSessions, endedSessionsPerPrincipal } = limits;
  return {
    endedSessions: shareOf(endedSessions, of),
    endedSessionsPerPrincipal: shareOf(endedSessionsPerPrincipal, of),
  };
}

function shareOf(limit: number, workers: number): number {
  return Math.max(1, Math.floor(limit / workers));
}
