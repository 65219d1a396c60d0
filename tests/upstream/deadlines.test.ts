import { describe, expect, test } from 'vitest';
import { Deadlines, type ExceededLimit, exceeded, type TimedCall } from '../../src/upstream/deadlines.ts';
import { ManualClock } from './support/clock.ts';

const limits = { firstByteMs: 100, idleMs: 200, totalMs: 1000 };

const fresh: Omit<TimedCall, 'timedOut'> = {
  startedAt: 0,
  heardAt: 0,
  heard: false,
  asking: 0,
  askingMs: 0,
  longLived: false,
  blocks: false,
  endBy: undefined,
};

describe('the limit that a call has exceeded', () => {
  const cases: readonly {
    name: string;
    call: Partial<Omit<TimedCall, 'timedOut'>>;
    now: number;
    expect: ExceededLimit | undefined;
  }[] = [
    { name: 'none while it is new', call: {}, now: 99, expect: undefined },
    { name: 'the first byte', call: {}, now: 100, expect: 'firstByteMs' },
    { name: 'not the first byte once something came', call: { heard: true, heardAt: 50 }, now: 249, expect: undefined },
    { name: 'silence since the last message', call: { heard: true, heardAt: 50 }, now: 250, expect: 'idleMs' },
    {
      name: 'the total, however much progress it reports',
      call: { heard: true, heardAt: 999 },
      now: 1000,
      expect: 'totalMs',
    },
    {
      name: 'no idle limit while a server request is open',
      call: { heard: true, asking: 1 },
      now: 900,
      expect: undefined,
    },
    {
      name: 'the total, without the time of server requests',
      call: { heard: true, heardAt: 1400, askingMs: 500 },
      now: 1499,
      expect: undefined,
    },
    {
      name: 'the total and server requests',
      call: { heard: true, heardAt: 1400, askingMs: 500 },
      now: 1500,
      expect: 'totalMs',
    },
    { name: 'the acknowledgement of a long-lived one', call: { longLived: true }, now: 100, expect: 'firstByteMs' },
    { name: 'no other for a long-lived one', call: { longLived: true, heard: true }, now: 9e9, expect: undefined },
    {
      name: 'the end that was announced for a long-lived one',
      call: { longLived: true, heard: true, endBy: 500 },
      now: 500,
      expect: 'idleMs',
    },
  ];
  test.each(cases)('$name', ({ call, now, expect: wanted }) => {
    expect(exceeded({ ...fresh, ...call, timedOut: () => undefined }, now, limits)).toBe(wanted);
  });
});

describe('the sweep', () => {
  const call = (clock: ManualClock, timedOut: (limit: ExceededLimit) => void): TimedCall => {
    const now = clock.now();
    return { ...fresh, startedAt: now, heardAt: now, timedOut };
  };

  test('one timer serves all calls, and expires each once', () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(limits, clock);
    const told: string[] = [];
    for (const name of ['a', 'b']) deadlines.watch(call(clock, (limit) => told.push(`${name} ${limit}`)));
    expect(clock.pending).toHaveLength(1);
    clock.advance(5000);
    expect(told).toEqual(['a firstByteMs', 'b firstByteMs']);
  });

  test('a call that waits to be sent has no limit, and a server request meanwhile takes none of its time', () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(limits, clock);
    const told: string[] = [];
    const waiting = { ...call(clock, (limit) => told.push(limit)), startedAt: Number.POSITIVE_INFINITY, asking: 1 };
    deadlines.watch(waiting);
    clock.advance(5000);
    expect(waiting.askingMs).toBe(0);
    Object.assign(waiting, { startedAt: clock.now(), heardAt: clock.now(), asking: 0 });
    clock.advance(75);
    expect(told).toEqual([]);
    clock.advance(500);
    expect(told).toEqual(['firstByteMs']);
  });

  test('leaves no timer when there is nothing to watch', () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(limits, clock);
    const one = call(clock, () => undefined);
    deadlines.watch(one);
    deadlines.remove(one);
    clock.advance(300);
    expect(clock.pending).toEqual([]);
  });

  test('starts again for the next call', () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(limits, clock);
    deadlines.watch(call(clock, () => undefined));
    clock.advance(1000);
    const told: string[] = [];
    deadlines.watch(call(clock, (limit) => told.push(limit)));
    clock.advance(1000);
    expect(told).toEqual(['firstByteMs']);
    deadlines.close();
    expect(clock.pending).toEqual([]);
  });

  test('a call that begins while another is timed out is watched', () => {
    const clock = new ManualClock();
    const deadlines = new Deadlines(limits, clock);
    const told: string[] = [];
    deadlines.watch(
      call(clock, () => {
        told.push('first');
        deadlines.watch(call(clock, () => told.push('second')));
      }),
    );
    clock.advance(1000);
    expect(told).toEqual(['first', 'second']);
    expect(clock.pending).toEqual([]);
  });
});
