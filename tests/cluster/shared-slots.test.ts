/** Slots that processes take in lots. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryCounts } from '../../src/cluster/memory-counts.ts';
import { SharedSlots } from '../../src/cluster/shared-slots.ts';
import { verifies } from '../requirements/verifies.ts';
import { ManualClock } from '../upstream/support/clock.ts';

function start(limit: number, processes: number) {
  const clock = new ManualClock();
  const counts = new MemoryCounts(() => clock.now());
  let asked = 0;
  const slots = Array.from({ length: processes }, (_, at) => {
    const own = counts.of(String(at));
    const counted = {
      hold: (...args: Parameters<typeof own.hold>) => {
        asked += 1;
        return own.hold(...args);
      },
    };
    return new SharedSlots({ name: 'sessions', limit, counts: counted, clock });
  });
  return { clock, counts, slots, asked: () => asked };
}

/** Everything that was asked is answered. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('slots over several processes', verifies('gateway:counts:lots'), () => {
  it('are taken without asking while a process uses its first lot', () => {
    const { slots, asked } = start(100, 2);
    for (let times = 0; times < 5; times++) for (const own of slots) expect(own.take('ada')).toBe(true);
    expect(asked()).toBe(0);
  });

  it('are exact where the limit is low', async () => {
    const { slots } = start(3, 3);
    const taken = [];
    for (let times = 0; times < 6; times++) taken.push(await slots[times % 3]!.take('ada'));
    expect(taken).toEqual([true, true, true, false, false, false]);
    slots[0]!.give('ada');
    await settled();
    expect(await slots[1]!.take('ada')).toBe(true);
    expect(await slots[2]!.take('eve')).toBe(true);
  });

  it('are asked for once by many at the same time', async () => {
    const { slots, asked } = start(10, 2);
    const taken = await Promise.all(Array.from({ length: 15 }, () => slots[0]!.take('ada')));
    expect(taken.filter(Boolean)).toHaveLength(10);
    expect(asked()).toBe(2);
  });

  it('are held for as long as the process asks again, and free afterwards', async () => {
    const { slots, clock } = start(2, 3);
    const [living, ended, other] = slots as [SharedSlots, SharedSlots, SharedSlots];
    expect([await living.take('ada'), await ended.take('ada')]).toEqual([true, true]);
    ended.close();
    for (let times = 0; times < 4; times++) {
      clock.advance(20_000);
      await settled();
    }
    expect([await other.take('ada'), await other.take('ada')]).toEqual([true, false]);
  });

  it('never exceed the limit by more than one lot for each process', async () => {
    const steps = fc.array(fc.record({ at: fc.nat(2), gives: fc.boolean(), waits: fc.boolean() }), { maxLength: 400 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(1, 3, 19, 20, 60), steps, async (limit, sequence) => {
        const { slots } = start(limit, 3);
        const used = [0, 0, 0];
        const waiting: Promise<unknown>[] = [];
        const most = limit + 3 * Math.floor(limit / 20);
        for (const { at, gives, waits } of sequence) {
          if (gives && used[at]! > 0) {
            used[at]! -= 1;
            slots[at]!.give('ada');
          } else {
            const taking = Promise.resolve(slots[at]!.take('ada')).then((isTaken) => {
              if (isTaken) used[at]! += 1;
              expect(used[0]! + used[1]! + used[2]!).toBeLessThanOrEqual(most);
            });
            waiting.push(taking);
          }
          if (waits) await settled();
        }
        await Promise.all(waiting);
        await settled();
        for (const [at, own] of slots.entries()) while (used[at]!-- > 0) own.give('ada');
        await settled();
        // Nothing is lost: all of them can be taken by one process.
        for (let times = 0; times < limit; times++) expect(await slots[0]!.take('ada')).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
