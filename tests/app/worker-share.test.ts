/** What each of several workers has of its own. */
import { describe, expect, it } from 'vitest';
import { ownAuditFile, shareOfConcurrency } from '../../src/app/worker-share.ts';
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
