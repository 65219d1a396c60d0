/** What every implementation of shared counts has to pass. */
import { describe, expect, it } from 'vitest';
import type { AttemptCounter, SharedCounts } from '../../src/store/counts.ts';
import { verifies } from '../requirements/verifies.ts';

/** Makes the counts as several processes use them. */
type CreateCounts = (now: () => number) => Promise<(member: string) => SharedCounts | Promise<SharedCounts>>;

/** `elapsed`: waits for the clock of an implementation that does not use ours. */
export function countsContract(
  name: string,
  create: CreateCounts,
  elapsed: (ms: number) => Promise<void> = async () => undefined,
): void {
  const start = async () => {
    let now = 1_000_000;
    const of = await create(() => now);
    const pass = async (ms: number) => {
      now += ms;
      await elapsed(ms);
    };
    return { one: await of('one'), other: await of('other'), pass };
  };

  describe(`${name}: tokens`, verifies('gateway:counts:contract'), () => {
    /** So slow that no token comes while the test runs. */
    const slow = { perSecond: 0.001, capacity: 5 };

    it('are given from one bucket to all processes, and no more than it has', async () => {
      const { one, other } = await start();
      expect(await one.take('a', slow, 3)).toEqual({ tokens: 3, waitMs: 0 });
      expect((await other.take('a', slow, 3)).tokens).toBe(2);
      expect((await one.take('a', slow, 3)).tokens).toBe(0);
      expect((await one.take('b', slow, 3)).tokens).toBe(3);
    });

    it('come back at the rate, and an empty bucket says when', async () => {
      const { one, other, pass } = await start();
      const bucket = { perSecond: 2, capacity: 2 };
      await one.take('a', bucket, 2);
      const { tokens, waitMs } = await other.take('a', bucket, 1);
      expect(tokens).toBe(0);
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(500);
      await pass(waitMs);
      expect((await other.take('a', bucket, 1)).tokens).toBe(1);
      await pass(2_000);
      expect((await one.take('a', bucket, 9)).tokens).toBe(2);
    });

    it('are given by the rate of the caller, which a reload may have changed', async () => {
      const { one, pass } = await start();
      await one.take('a', slow, 5);
      await pass(50);
      expect((await one.take('a', { perSecond: 100, capacity: 50 }, 5)).tokens).toBe(5);
      expect((await one.take('b', { perSecond: 0.001, capacity: 1 }, 5)).tokens).toBe(1);
    });
  });

  describe(`${name}: slots`, verifies('gateway:counts:contract'), () => {
    const ttlMs = 300;
    const asked = (wanted: number, used = 0) => ({ limit: 10, used, wanted, ttlMs: 60_000 });

    it('are held by all processes together up to the limit, and free when given back', async () => {
      const { one, other } = await start();
      expect(await one.hold('a', asked(6))).toBe(6);
      expect(await other.hold('a', asked(6))).toBe(4);
      expect(await other.hold('b', asked(6))).toBe(6);
      expect(await one.hold('a', asked(0))).toBe(0);
      expect(await other.hold('a', asked(6))).toBe(6);
    });

    it('are replaced, not added, so that a repeated question changes nothing', async () => {
      const { one } = await start();
      for (let times = 0; times < 3; times++) expect(await one.hold('a', asked(8))).toBe(8);
    });

    it('in use count even over the limit', async () => {
      const { one, other } = await start();
      await one.hold('a', asked(10));
      expect(await other.hold('a', asked(5, 3))).toBe(3);
      expect(await one.hold('a', asked(10))).toBe(7);
    });

    it('of a process that does not ask again are free after their time', async () => {
      const { one, other, pass } = await start();
      expect(await one.hold('a', { ...asked(10), ttlMs })).toBe(10);
      expect(await other.hold('a', asked(1))).toBe(0);
      await pass(ttlMs + 1);
      expect(await other.hold('a', asked(1))).toBe(1);
    });
  });

  describe(`${name}: attempts`, verifies('gateway:counts:contract'), () => {
    const withinMs = 400;
    const counter = (kind: string, most: number, name = 'ada'): AttemptCounter => ({
      ...{ kind, name, most, withinMs, names: 100 },
    });

    it('are counted over all processes for a time, and the time is told', async () => {
      const { one, other, pass } = await start();
      expect(await one.attempt([counter('k', 2)])).toBe(0);
      expect(await other.attempt([counter('k', 2)])).toBe(0);
      for (const counts of [one, other]) {
        const wait = await counts.attempt([counter('k', 2)]);
        expect(wait).toBeGreaterThan(0);
        expect(wait).toBeLessThanOrEqual(withinMs);
      }
      expect(await one.attempt([counter('k', 2, 'eve')])).toBe(0);
      await pass(withinMs + 1);
      expect(await other.attempt([counter('k', 2)])).toBe(0);
    });

    it('count with no counter where one of them is at its limit', async () => {
      const { one, other } = await start();
      await one.attempt([counter('address', 1)]);
      expect(await other.attempt([counter('name', 2), counter('address', 1)])).toBeGreaterThan(0);
      expect(await other.attempt([counter('name', 2)])).toBe(0);
      expect(await one.attempt([counter('name', 2)])).toBe(0);
      expect(await one.attempt([counter('name', 2)])).toBeGreaterThan(0);
    });

    it('are taken back one by one, or forgotten all at once', async () => {
      const { one, other } = await start();
      const counters = [counter('k', 2), counter('l', 2)];
      for (let times = 0; times < 2; times++) await one.attempt(counters);
      await other.takeBack([counter('k', 2)], [counter('l', 2)]);
      expect(await one.attempt(counters)).toBe(0);
      expect(await one.attempt([counter('k', 2)])).toBeGreaterThan(0);
      expect(await one.attempt([counter('l', 2)])).toBe(0);
    });
  });
}
