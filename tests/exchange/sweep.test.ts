import { describe, expect, it } from 'vitest';
import { Sweep } from '../../src/exchange/sweep.ts';
import { ManualClock } from '../downstream/harness.ts';

function waiting(log: string[], name: string, then: () => void = () => undefined) {
  return {
    due: 0,
    expire: () => {
      log.push(name);
      then();
    },
  };
}

describe('a sweep', () => {
  it('never ends a wait early, and at most an eighth late', () => {
    const clock = new ManualClock();
    const sweep = new Sweep(800, clock);
    const log: string[] = [];
    sweep.add(waiting(log, 'one'));
    clock.advance(50);
    sweep.add(waiting(log, 'two'));
    clock.advance(750);
    expect(log).toEqual([]);
    clock.advance(100);
    expect(log).toEqual(['one', 'two']);
  });

  it('forgets removed entries, and begins anew when they are added again', () => {
    const clock = new ManualClock();
    const sweep = new Sweep(800, clock);
    const log: string[] = [];
    const renewed = waiting(log, 'renewed');
    const removed = waiting(log, 'removed');
    sweep.add(renewed);
    sweep.add(removed);
    clock.advance(700);
    sweep.add(renewed);
    sweep.remove(removed);
    clock.advance(700);
    expect(log).toEqual([]);
    clock.advance(200);
    expect(log).toEqual(['renewed']);
  });

  it('lets a wait begin again from its own end', () => {
    const clock = new ManualClock();
    const sweep = new Sweep(8, clock);
    const log: string[] = [];
    const again = waiting(log, 'tick', () => sweep.add(again));
    sweep.add(again);
    clock.advance(27);
    expect(log).toEqual(['tick', 'tick', 'tick']);
  });

  it('has a timer only while something waits', () => {
    const clock = new ManualClock();
    const sweep = new Sweep(800, clock);
    expect(clock.pending).toBe(0);
    const one = waiting([], 'one');
    sweep.add(one);
    expect(clock.pending).toBe(1);
    sweep.remove(one);
    clock.advance(100);
    expect(clock.pending).toBe(0);
    sweep.add(one);
    sweep.close();
    expect(clock.pending).toBe(0);
  });
});
