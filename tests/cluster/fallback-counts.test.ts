/** Shared counts that cannot be reached: each process counts its part of the limits, and says so once. */
import { describe, expect, it } from 'vitest';
import { FallbackCounts } from '../../src/cluster/fallback-counts.ts';
import { MemoryCounts } from '../../src/cluster/memory-counts.ts';
import type { SharedCounts } from '../../src/store/counts.ts';
import { verifies } from '../requirements/verifies.ts';
import { ManualClock } from '../upstream/support/clock.ts';

type State = 'well' | 'failing' | 'silent';

const bucket = { perSecond: 0.001, capacity: 10 };
const slots = { limit: 10, used: 0, wanted: 10, ttlMs: 60_000 };
const counter = { kind: 'k', name: 'ada', most: 10, withinMs: 60_000, names: 10 };
const ANSWER_MS = 1_000;
const PAUSE_MS = 1_000;

function start(members = 3) {
  const clock = new ManualClock();
  const warnings: string[] = [];
  let state: State = 'well';
  let asked = 0;
  const real = new MemoryCounts(() => clock.now()).of('this process');
  const counting = <A extends readonly unknown[], T>(count: (...args: A) => Promise<T>) => {
    return (...args: A): Promise<T> => {
      asked += 1;
      if (state === 'silent') return new Promise(() => undefined);
      return state === 'failing' ? Promise.reject(new Error('Redis is away')) : count(...args);
    };
  };
  const shared: SharedCounts = {
    take: counting(real.take),
    hold: counting(real.hold),
    attempt: counting(real.attempt),
    takeBack: counting(real.takeBack),
  };
  const counts = new FallbackCounts({ shared, members: () => members, clock, warn: (text) => warnings.push(text) });
  return {
    ...{ clock, warnings, counts },
    set: (next: State) => {
      state = next;
    },
    asked: () => asked,
  };
}

describe('counts that cannot be reached', verifies('gateway:counts:fallback'), () => {
  it('are counted by this process, with its part of each limit', async () => {
    const { counts, set } = start();
    set('failing');
    expect((await counts.take('a', bucket, 10)).tokens).toBe(3);
    expect(await counts.hold('a', slots)).toBe(3);
    for (let times = 0; times < 3; times++) expect(await counts.attempt([counter])).toBe(0);
    expect(await counts.attempt([counter])).toBeGreaterThan(0);
    await counts.takeBack([counter]);
    expect(await counts.attempt([counter])).toBe(0);
  });

  it('give at least one of each', async () => {
    const { counts, set } = start(64);
    set('failing');
    expect((await counts.take('a', bucket, 10)).tokens).toBe(1);
    expect(await counts.hold('a', slots)).toBe(1);
    expect(await counts.attempt([counter])).toBe(0);
  });

  it('are reported once, asked again after a pause, and reported when they are back', async () => {
    const { counts, set, clock, warnings, asked } = start();
    set('failing');
    for (let times = 0; times < 5; times++) await counts.take('a', bucket, 1);
    expect(asked()).toBe(1);
    clock.advance(PAUSE_MS);
    await Promise.all([counts.take('a', bucket, 1), counts.take('b', bucket, 1)]);
    expect(asked()).toBe(2);
    expect(warnings).toEqual([expect.stringContaining('by this process alone')]);
    set('well');
    clock.advance(PAUSE_MS);
    expect((await counts.take('a', bucket, 10)).tokens).toBe(10);
    expect(warnings).toEqual([expect.anything(), expect.stringContaining('over all processes again')]);
    expect((await counts.take('c', bucket, 10)).tokens).toBe(10);
  });

  it('are not waited for', async () => {
    const { counts, set, clock } = start();
    set('silent');
    const taking = counts.take('a', bucket, 10);
    clock.advance(ANSWER_MS);
    expect((await taking).tokens).toBe(3);
    expect((await counts.take('b', bucket, 10)).tokens).toBe(3);
  });
});
