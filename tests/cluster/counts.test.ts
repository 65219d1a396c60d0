/** Counts in memory, and at the primary process of workers. */
import { describe, expect, it } from 'vitest';
import { MemoryCounts } from '../../src/cluster/memory-counts.ts';
import { CountsAtPrimary, PrimaryCounts } from '../../src/cluster/primary-counts.ts';
import { verifies } from '../requirements/verifies.ts';
import { countsContract } from '../store/counts-contract.ts';
import { testChannel } from './channels.ts';

countsContract('memory', async (now) => {
  const counts = new MemoryCounts(now);
  return (member) => counts.of(member);
});

function atPrimary(primary: PrimaryCounts, member: string) {
  const channel = testChannel();
  const end = primary.serve(member, channel.primary);
  return { counts: new CountsAtPrimary(channel.worker), end, channel };
}

countsContract('the primary process', async (now) => {
  const primary = new PrimaryCounts(now);
  return (member) => atPrimary(primary, member).counts;
});

describe('the primary process', verifies('gateway:counts:workers'), () => {
  it('frees the slots of a worker that has ended at once', async () => {
    const primary = new PrimaryCounts(() => 0);
    const [ended, other] = [atPrimary(primary, '0'), atPrimary(primary, '1')];
    const request = { limit: 10, used: 0, wanted: 10, ttlMs: 60_000 };
    expect(await ended.counts.hold('a', request)).toBe(10);
    expect(await other.counts.hold('a', request)).toBe(0);
    ended.end();
    expect(await other.counts.hold('a', request)).toBe(10);
  });

  it('and other messages on the same channel are not mixed up', async () => {
    const primary = new PrimaryCounts(() => 0);
    const { counts, channel } = atPrimary(primary, '0');
    channel.primary.send({ kind: 'bascule metrics', id: 1, text: 'm' }, () => undefined);
    channel.worker.send({ kind: 'bascule metrics', id: 1, text: 'm' }, () => undefined);
    expect((await counts.take('a', { perSecond: 1, capacity: 1 }, 1)).tokens).toBe(1);
  });
});
