import { describe, expect, it } from 'vitest';
import { FloodBudget, FloodMeter } from '../../src/upstream/flood-meter.ts';
import { verifies } from '../requirements/verifies.ts';
import { ManualClock } from './support/clock.ts';

const PERIOD_MS = 1_000;
const limits = { unsolicitedMessages: 10, unsolicitedMs: PERIOD_MS, unsolicitedPeriods: 3 };

function metered() {
  const clock = new ManualClock();
  const heard: string[] = [];
  const meter = new FloodMeter(new FloodBudget(limits), clock, {
    pause: () => heard.push('pause'),
    resume: () => heard.push('resume'),
    tryEnd: () => heard.push('end') > 0,
  });
  const period = (messages: number) => {
    for (let n = 0; n < messages; n++) meter.countUnsolicited(1, 0);
    clock.advance(PERIOD_MS);
  };
  return { heard, meter, period };
}

describe('a meter of unsolicited messages', () => {
  it.each([
    { name: 'the budget, for ever', periods: [10, 10, 10, 10, 10], expect: [] },
    { name: 'one more, once', periods: [11, 10], expect: ['pause', 'resume'] },
    {
      name: 'too much in two of three periods',
      periods: [11, 11, 10, 11, 11],
      expect: ['pause', 'resume', 'pause', 'resume', 'pause', 'resume', 'pause', 'resume'],
    },
    {
      name: 'too much, a silent period, and too much again',
      periods: [11, 11, 0, 11],
      expect: ['pause', 'resume', 'pause', 'resume', 'pause', 'resume'],
    },
    { name: 'too much in three periods', periods: [11, 11, 11], expect: ['pause', 'resume', 'pause', 'resume', 'end'] },
  ])('lets pass, pauses or ends by periods: $name', verifies('gateway:backend:flood-ended'), (row) => {
    const { heard, period } = metered();
    for (const messages of row.periods) period(messages);
    expect(heard).toEqual(row.expect);
  });

  it('counts every 4 KiB as a message more', verifies('gateway:backend:flood-paused'), () => {
    const { heard, meter } = metered();
    meter.countUnsolicited(1, 9 * 4096);
    expect(heard).toEqual([]);
    meter.countUnsolicited(0, 4096);
    expect(heard).toEqual(['pause']);
  });

  it('is not flooding once a period was silent', verifies('gateway:backend:flood-backs-off'), () => {
    const { meter, period } = metered();
    period(11);
    expect(meter.isFlooding).toBe(true);
    period(0);
    period(0);
    expect(meter.isFlooding).toBe(false);
  });

  it(
    'pauses a pipe that sends little once all pipes have sent forty budgets',
    verifies('gateway:backend:flood-spares-quiet'),
    () => {
      const budget = new FloodBudget(limits);
      const clock = new ManualClock();
      const paused: number[] = [];
      const most = 40 * limits.unsolicitedMessages;
      for (let pipe = 1; pipe <= most + 1; pipe++) {
        const valve = { pause: () => void paused.push(pipe), resume: () => undefined, tryEnd: () => true };
        new FloodMeter(budget, clock, valve).countUnsolicited(1, 0);
      }
      expect(paused).toEqual([most + 1]);
    },
  );
});
