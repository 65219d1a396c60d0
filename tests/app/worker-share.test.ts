/** What one of several workers may take of the limits of the gateway. */
import { describe, expect, it } from 'vitest';
import { shareOfRates, shareOfSessions } from '../../src/app/worker-share.ts';
import { verifies } from '../requirements/verifies.ts';

const second = { number: 1, of: 4 };

describe('the share of one worker of four', verifies('gateway:workers:run'), () => {
  it('is a fourth of each rate, and at least one request', () => {
    const rate = { id: 'r', per: [], who: {}, on: {}, perSecond: 10, burst: 9, concurrent: 2 } as const;
    expect(shareOfRates([rate], second)).toEqual([{ ...rate, perSecond: 2.5, burst: 2, concurrent: 1 }]);
  });

  it('is a fourth of the sessions', () => {
    const open = { sessionIdleMs: 1, sessionMaxMs: 2, sessionsPerPrincipal: 100, sessionsTotal: 1000 };
    const limits = { ...open, endedSessions: 400, endedSessionsPerPrincipal: 40 };
    expect(shareOfSessions(limits, second)).toEqual({
      ...limits,
      ...{ sessionsPerPrincipal: 25, sessionsTotal: 250, endedSessions: 100, endedSessionsPerPrincipal: 10 },
    });
  });
});
