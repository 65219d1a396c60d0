/** Rates over several processes, which take tokens in lots. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryCounts } from '../../src/cluster/memory-counts.ts';
import { lotOf } from '../../src/policy/lots.ts';
import { type Admission, RateExceeded, type RateSettings, Rates } from '../../src/policy/rates.ts';
import type { SharedCounts } from '../../src/store/counts.ts';
import { verifies } from '../requirements/verifies.ts';
import { call, world } from './setup.ts';

type Rate = Partial<RateSettings>;

function setup(processes: number, ...rates: readonly Rate[]) {
  let now = 1_000;
  let asked = 0;
  const counts = new MemoryCounts(() => now).of('all');
  const source: Pick<SharedCounts, 'take'> = {
    take: async (...args) => {
      asked += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return counts.take(...args);
    },
  };
  const settingsOf = (given: readonly Rate[]) =>
    given.map((rate, at): RateSettings => ({ id: `r${at}`, per: [], who: {}, on: {}, ...rate }));
  const make = (given: readonly Rate[], before?: Rates) =>
    new Rates(settingsOf(given), world, { now: () => now, source, before });
  const limiters = Array.from({ length: processes }, () => make(rates));
  return {
    ...{ limiters, make },
    asked: () => asked,
    pass: (ms: number) => {
      now += ms;
    },
    admit: async (at = 0, question = call('x')) => limiters[at]!.admit(question),
  };
}

const isAdmitted = (admitted: Admission | RateExceeded) => !(admitted instanceof RateExceeded);

describe('a rate over several processes', verifies('gateway:counts:lots'), () => {
  test('is exact where it is low, and says when to retry', async () => {
    const { admit, pass } = setup(3, { perSecond: 2, burst: 3 });
    for (const at of [0, 1, 2]) expect(isAdmitted(await admit(at))).toBe(true);
    for (const at of [0, 1, 2]) expect(await admit(at)).toEqual(new RateExceeded('r0', 500));
    pass(400);
    expect(await admit(1)).toEqual(new RateExceeded('r0', 100));
    pass(100);
    expect(isAdmitted(await admit(2))).toBe(true);
    expect(await admit(1)).toEqual(new RateExceeded('r0', 500));
  });

  test('is asked for once in each lot, and an answer that is known is given at once', async () => {
    const { limiters, admit, asked } = setup(1, { perSecond: 100, burst: 100 });
    expect(isAdmitted(await admit())).toBe(true);
    for (let times = 1; times < 10; times++) expect(limiters[0]!.admit(call('x'))).not.toBeInstanceOf(Promise);
    expect(asked()).toBe(1);
    for (let times = 10; times < 100; times++) await admit();
    expect(asked()).toBe(10);
  });

  test('is not asked for again while it is known to be empty', async () => {
    const { limiters, admit, asked } = setup(1, { perSecond: 1, burst: 1 });
    await admit();
    await admit();
    const before = asked();
    for (let times = 0; times < 100; times++) expect(limiters[0]!.admit(call('x'))).toBeInstanceOf(RateExceeded);
    expect(asked()).toBe(before);
  });

  test('serves many requests at the same time with two questions', async () => {
    const { admit, asked } = setup(1, { perSecond: 1, burst: 50 });
    const admitted = await Promise.all(Array.from({ length: 60 }, () => admit()));
    expect(admitted.filter(isAdmitted)).toHaveLength(50);
    expect(asked()).toBe(2);
  });

  test('is not asked for where no limit counts the request, or another refuses it', async () => {
    const { limiters, asked } = setup(
      1,
      { perSecond: 1, on: { tools: ['y'] } },
      { concurrent: 1, on: { tools: ['z'] } },
    );
    expect(limiters[0]!.admit(call('x'))).not.toBeInstanceOf(Promise);
    for (const expected of [true, false]) {
      const admitted = limiters[0]!.admit(call('z'));
      expect(!(admitted instanceof Promise) && isAdmitted(admitted)).toBe(expected);
    }
    expect(asked()).toBe(0);
  });

  test('that a reload changes is in force at once', async () => {
    const { limiters, make, admit } = setup(1, { perSecond: 0.001, burst: 1 });
    await admit();
    expect(await admit()).toBeInstanceOf(RateExceeded);
    const next = make([{ perSecond: 1_000, burst: 100 }], limiters[0]);
    const refused = (await next.admit(call('x'))) as RateExceeded;
    // The bucket has no token yet, and gets the next one by the new rate.
    expect(refused.retryAfterMs).toBeLessThanOrEqual(10);
  });

  test('never exceeds the limit by more than one lot for each process', async () => {
    const steps = fc.array(
      fc.record({ at: fc.nat(2), passes: fc.nat(400), requests: fc.integer({ min: 1, max: 30 }) }),
      { minLength: 1, maxLength: 40 },
    );
    const rate = fc.record({ perSecond: fc.constantFrom(0.5, 3, 10, 45, 200), burst: fc.constantFrom(1, 5, 30, 100) });
    await fc.assert(
      fc.asyncProperty(rate, steps, async ({ perSecond, burst }, sequence) => {
        const { admit, pass } = setup(3, { perSecond, burst });
        const most = burst + 3 * lotOf({ perSecond, capacity: burst });
        /** When each request was admitted. */
        const times: number[] = [];
        let now = 0;
        for (const { at, passes, requests } of sequence) {
          pass(passes);
          now += passes;
          const admitted = await Promise.all(Array.from({ length: requests }, () => admit(at)));
          for (const one of admitted) if (isAdmitted(one)) times.push(now);
        }
        for (const [first, from] of times.entries())
          for (const [last, to] of times.entries())
            if (last >= first)
              expect(last - first + 1).toBeLessThanOrEqual(most + ((to - from) / 1_000) * perSecond + 1e-6);
      }),
      { numRuns: 150 },
    );
  });
});
