/** What one of several workers may take of the limits of the gateway. */
import { describe, expect, it } from 'vitest';
import { ownAuditFile, shareOfRates, shareOfSessions } from '../../src/app/worker-share.ts';
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

  it.each([
    { number: 0, path: '/var/log/audit.jsonl' },
    { number: 1, path: '/var/log/audit.worker-1.jsonl' },
  ])('worker $number writes its audit records to $path', ({ number, path }) => {
    const to = { kind: 'file', path: '/var/log/audit.jsonl', maxBytes: 1, keep: 1 } as const;
    expect(ownAuditFile(to, { number, of: 2 })).toEqual({ ...to, path });
  });

  it('streams have no file of their own', () => {
    expect(ownAuditFile({ kind: 'stderr' }, second)).toEqual({ kind: 'stderr' });
  });
});
