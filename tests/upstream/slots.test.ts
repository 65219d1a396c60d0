import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/exchange/fair-queue.ts';
import { type SlotLimits, Slots, type Ticket } from '../../src/upstream/slots.ts';
import { ManualClock } from './support/clock.ts';

const limits: SlotLimits = { callsPerBackend: 2, queuedPerBackend: 4, queueMs: 1_000 };

function setUp() {
  const clock = new ManualClock();
  const slots = new Slots(limits, clock);
  const log: string[] = [];
  /** Enters, or waits; what becomes of it is in the log. */
  const come = (holder: string, name: string): Ticket | undefined => {
    if (slots.enter()) {
      log.push(`${name} in`);
      return undefined;
    }
    return slots.wait(holder, {
      admitted: () => log.push(`${name} in`),
      refused: ({ reason }) => log.push(`${name} ${reason}`),
    });
  };
  return { clock, slots, log, come };
}

describe('the concurrent calls of a backend', () => {
  it('may all be used by one principal while no other comes', () => {
    const { log, come } = setUp();
    come('alice', 'a1');
    come('alice', 'a2');
    expect(log).toEqual(['a1 in', 'a2 in']);
  });

  it('are given round-robin to waiting principals, not by arrival', () => {
    const { slots, log, come } = setUp();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) come('alice', name);
    come('bob', 'b1');
    log.length = 0;
    for (let n = 0; n < 4; n++) slots.leave();
    expect(log).toEqual(['a3 in', 'b1 in', 'a4 in', 'a5 in']);
  });

  it('are refused to the last call of the principal that waits with most if the queue is full', async () => {
    const { log, come } = setUp();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) come('alice', name);
    log.length = 0;
    come('bob', 'b1');
    come('alice', 'a7');
    await undefined;
    expect(log).toEqual(['a6 backend_busy', 'a7 backend_busy']);
  });

  it('are not waited for beyond the limit, and not by cancelled calls', () => {
    const { clock, slots, log, come } = setUp();
    come('alice', 'a1');
    come('alice', 'a2');
    const gone = come('alice', 'a3');
    come('bob', 'b1');
    if (gone !== undefined) slots.withdraw(gone);
    clock.advance(limits.queueMs);
    expect(log).toEqual(['a1 in', 'a2 in', 'b1 backend_busy']);
    slots.leave();
    come('carol', 'c1');
    expect(log.at(-1)).toBe('c1 in');
    slots.close();
    expect(clock.pending).toEqual([]);
  });
});

describe('a fair queue', () => {
  it('keeps the order of each principal, loses nothing, and never exceeds its bound', () => {
    const keys = fc.constantFrom('a', 'b', 'c');
    fc.assert(
      fc.property(fc.array(fc.option(keys, { nil: undefined }), { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<{ key: string; n: number }>(5);
        const waiting: { key: string; n: number }[] = [];
        for (const [n, key] of steps.entries()) {
          if (key === undefined) {
            const next = queue.shift();
            expect(next).toBe(waiting.find((one) => one.key === next?.key));
            if (next !== undefined) waiting.splice(waiting.indexOf(next), 1);
          } else {
            const item = { key, n };
            const displaced = queue.push(key, item);
            waiting.push(item);
            if (displaced !== undefined) waiting.splice(waiting.indexOf(displaced), 1);
          }
          expect(queue.size).toBe(waiting.length);
          expect(queue.size).toBeLessThanOrEqual(5);
        }
        expect(new Set(queue.drain())).toEqual(new Set(waiting));
      }),
    );
  });
});
