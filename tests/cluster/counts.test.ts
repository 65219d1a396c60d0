/** Counts in memory, and at the primary process of workers. */
import { describe, expect, it } from 'vitest';
import { MemoryCounts } from '../../src/cluster/memory-counts.ts';
import { CountsAtPrimary, PrimaryCounts } from '../../src/cluster/primary-counts.ts';
import { verifies } from '../requirements/verifies.ts';
import { countsContract } from '../store/counts-contract.ts';

countsContract('memory', async (now) => {
  const counts = new MemoryCounts(now);
  return (member) => counts.of(member);
});

/** As messages between processes are: JSON, and later. */
function atPrimary(primary: PrimaryCounts, member: string): CountsAtPrimary {
  const sent = (value: unknown) => JSON.parse(JSON.stringify(value ?? null));
  return new CountsAtPrimary(async (question) => sent(await primary.answer(member, sent(question))));
}

countsContract('the primary process', async (now) => {
  const primary = new PrimaryCounts(now);
  return (member) => atPrimary(primary, member);
});

describe('the primary process', verifies('gateway:counts:workers'), () => {
  it('frees the slots of a worker that has ended at once', async () => {
    const primary = new PrimaryCounts(() => 0);
    const [ended, other] = [atPrimary(primary, '0'), atPrimary(primary, '1')];
    const request = { limit: 10, used: 0, wanted: 10, ttlMs: 60_000 };
    expect(await ended.hold('a', request)).toBe(10);
    expect(await other.hold('a', request)).toBe(0);
    primary.forget('0');
    expect(await other.hold('a', request)).toBe(10);
  });
});
