/** What a process writes on stderr costs little to read: a verbose server works on, and only a flood slows it down. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { legacyProcess, modernProcess, type StdioScript } from '../harness/stdio-backend.ts';
import { BUDGET, FOREVER_MS, limits, PERIOD_MS, PERIODS } from './flooding.ts';
import { answered, caller, count, startBeforeProcess } from './setup.ts';

const processOf = { legacy: legacyProcess, modern: modernProcess };

describe.each(eras)('a %s process with a call running', (era) => {
  const done = { ...(era === 'modern' && { resultType: 'complete' }), ...text('done') };
  const tools = { ...(era === 'modern' && { resultType: 'complete' }), tools: [] };
  const start = async () => {
    const clock = new LeapClock();
    const script: StdioScript = { 'tools/list': (turn) => turn.result(tools), 'tools/call': () => undefined };
    const backend = await processOf[era](script);
    const gateway = await startBeforeProcess(backend, { backend: { idleMs: FOREVER_MS }, limits, ports: { clock } });
    const answer = (await caller(era, gateway.url('b'))).ask(1);
    const turn = await backend.arrival('tools/call');
    const paused = () => count(gateway, 'backend.flood.paused');
    return { clock, gateway, answer, turn, process: turn.process, paused };
  };

  it(
    'writes twenty short lines on stderr for each message of the budget, and is not paused',
    verifies('gateway:backend:stderr-costs-little'),
    async () => {
      const { gateway, answer, turn, process, paused } = await start();
      process.complain('complaint\n'.repeat(20 * BUDGET));
      await until(() => count(gateway, 'backend.noise.stderr') === 20 * BUDGET, 'all of it was read');
      turn.result(done);
      expect(answered(await answer)).toEqual(result(1, done));
      expect(paused()).toBe(0);
    },
  );

  it(
    'floods stderr and is paused, which is logged once at info; a flood after the call is counted from its beginning',
    verifies('gateway:backend:stderr-costs-little', 'gateway:backend:flood-ended'),
    async () => {
      const { clock, gateway, answer, turn, process, paused } = await start();
      const flood = async (period: number) => {
        process.complain('complaint\n'.repeat(30 * BUDGET));
        await until(() => paused() === period, `it is paused (${period})`);
        clock.leap(PERIOD_MS);
      };
      for (let period = 1; period <= PERIODS; period++) await flood(period);
      turn.result(done);
      expect(answered(await answer)).toEqual(result(1, done));
      for (let period = 1; period < PERIODS; period++) await flood(PERIODS + period);
      expect(process.gone).toBe(false);
      expect(count(gateway, 'backend.flood.ended')).toBe(0);

      process.complain('complaint\n'.repeat(30 * BUDGET));
      await until(() => process.gone, 'it was ended');
      const told = gateway.log.filter(({ level, facts }) => level === 'info' && facts.reason === 'backend_flooding');
      expect(told).toMatchObject([
        { facts: { backend: 'b', where: 'stderr' }, text: expect.stringContaining('limits.unsolicitedMessages') },
      ]);
    },
  );
});
