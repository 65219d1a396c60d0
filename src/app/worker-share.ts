/**
 * What one of several workers may take of what the config grants to the whole gateway. Workers do not ask each other:
 * each has its part, so that all together stay within the limit.
 */
import type { Seat } from '../cluster/seat.ts';
import type { RateSettings } from '../policy/rates.ts';
import type { EndedSessionLimits } from '../session/ended-sessions.ts';
import type { SessionLimits } from '../session/sessions.ts';

/** Which worker this is, and of how many. */
export type WorkerPlace = Pick<Seat, 'number' | 'of'>;

export function shareOfRates(rates: readonly RateSettings[], { of }: WorkerPlace): readonly RateSettings[] {
  return rates.map((rate) => ({
    ...rate,
    ...(rate.perSecond !== undefined && { perSecond: rate.perSecond / of }),
    ...(rate.burst !== undefined && { burst: shareOf(rate.burst, of) }),
    ...(rate.concurrent !== undefined && { concurrent: shareOf(rate.concurrent, of) }),
  }));
}

export function shareOfSessions(
  limits: SessionLimits & EndedSessionLimits,
  { of }: WorkerPlace,
): SessionLimits & EndedSessionLimits {
  const { sessionsPerPrincipal, sessionsTotal, endedSessions, endedSessionsPerPrincipal } = limits;
  return {
    ...limits,
    sessionsPerPrincipal: shareOf(sessionsPerPrincipal, of),
    sessionsTotal: shareOf(sessionsTotal, of),
    endedSessions: shareOf(endedSessions, of),
    endedSessionsPerPrincipal: shareOf(endedSessionsPerPrincipal, of),
  };
}

function shareOf(limit: number, workers: number): number {
  return Math.max(1, Math.floor(limit / workers));
}
