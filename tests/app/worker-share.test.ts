/** What each of several workers has of its own. */
import { describe, expect, it } from 'vitest';
import { shareOfConcurrency, shareOfEnded } from '../../src/app/worker-share.ts';
import { verifies } from '../requirements/verifies.ts';

const second = { number: 1, of: 4 };

describe('the share of one worker of four', verifies('gateway:workers:run'), () => {
  it.each([
    { concurrent: 9, share: 2 },
    { concurrent: 2, share: 1 },
  ])('is $share of $concurrent concurrent calls; the rate itself is shared', ({ concurrent, share }) => {
    const rate = { id: 'r', per: [], who: {}, on: {}, perSecond: 10, burst: 9, concurrent } as const;
    expect(shareOfConcurrency([rate], second)).toEqual([{ ...rate, concurrent: share }]);
  });

  it('is a fourth of the ended sessions', () => {
    const limits = { endedSessions: 400, endedSessionsPerPrincipal: 40 };
    expect(shareOfEnded(limits, second)).toEqual({ endedSessions: 100, endedSessionsPerPrincipal: 10 });
  });
});
