/** A stdio backend that writes without end what belongs to no call: it is paused, then ended, and others are served. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { isRunning } from '../../upstream/support/processes.ts';
import { notification, refusal, request, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { type BackendProcess, legacyProcess, modernProcess, type StdioScript } from '../harness/stdio-backend.ts';
import {
  BUDGET,
  CALL_BUDGET,
  FLOOD,
  FOREVER_MS,
  flooding,
  limits,
  PERIOD_MS,
  PERIODS,
  served,
  warnings,
} from './flooding.ts';
import { answered, caller, count, messagesOf } from './setup.ts';

const processOf = { legacy: legacyProcess, modern: modernProcess };

const line = (message: unknown) => `${JSON.stringify(message)}\n`;

interface Kind {
  readonly name: string;
  flood(process: BackendProcess): void;
  /** How many of them were read. Absent where no counter tells. */
  read?(gateway: TestGateway, process: BackendProcess): number;
}

const kinds: readonly Kind[] = [
  {
    name: 'lines on stdout that are no messages',
    flood: (process) => process.print('noise\n'.repeat(FLOOD)),
    read: (gateway) => count(gateway, 'backend.noise.stdout'),
  },
  {
    name: 'empty lines on stdout',
    flood: (process) => process.print('\n'.repeat(FLOOD)),
  },
  {
    name: 'responses with unknown ids',
    flood: (process) => process.print(line(result('unknown', {})).repeat(FLOOD)),
    read: (gateway) => count(gateway, 'backend.noise.unknown_id'),
  },
  {
    name: 'requests',
    flood: (process) => process.print(line(request('q', 'ping')).repeat(FLOOD)),
  },
  {
    name: 'progress of no call',
    flood: (process) =>
      process.print(line(notification('notifications/progress', { progressToken: 'x', progress: 1 })).repeat(FLOOD)),
    read: (gateway) => count(gateway, 'backend.odd.unattributed'),
  },
  {
    name: 'log messages outside of calls',
    flood: (process) =>
      process.print(line(notification('notifications/message', { level: 'info', data: 'x' })).repeat(FLOOD)),
  },
  {
    name: 'lines on stderr',
    // Each write is read by itself: a chunk of stderr is counted, and then the pipe is paused.
    flood: (process) => process.complain('complaint\n'.repeat(30 * BUDGET)),
  },
];

describe.each(eras)('a %s process', (era) => {
  const done = { ...(era === 'modern' && { resultType: 'complete' }), ...text('done') };
  const tools = { ...(era === 'modern' && { resultType: 'complete' }), tools: [] };
  const start = async (script: StdioScript) => {
    const clock = new LeapClock();
    const quiet: StdioScript = {
      'tools/list': (turn) => turn.result(tools),
      'tools/call': (turn) => turn.result(done),
    };
    const [noisy, other] = [await processOf[era]({ ...quiet, ...script }), await processOf[era](quiet)];
    const gateway = await startGateway(
      {
        backends: {
          noisy: { command: noisy.command, args: noisy.args, idleMs: FOREVER_MS },
          other: { command: other.command, args: other.args, idleMs: FOREVER_MS },
        },
        limits,
      },
      { clock },
    );
    const calls = { noisy: await caller(era, gateway.url('noisy')), other: await caller(era, gateway.url('other')) };
    return { clock, noisy, gateway, calls };
  };
  it.each(kinds)(
    'that floods with $name is paused, then ended by name, while another backend is served',
    verifies('gateway:backend:flood-paused', 'gateway:backend:flood-ended'),
    async ({ flood, read }) => {
      const { clock, noisy, gateway, calls } = await start({});
      await served(calls.noisy, done);
      await served(calls.other, done);
      const { process } = noisy.of('tools/call')[0] ?? {};
      if (process === undefined) throw new Error('the call reached no process');
      for (let period = 1; period < PERIODS; period++) {
        flood(process);
        await until(() => count(gateway, 'backend.flood.paused') === period, `it is paused (${period})`);
        for (let n = 0; n < 3; n++) await served(calls.other, done);
        if (read !== undefined) expect(read(gateway, process)).toBe(period * (BUDGET + 1));
        expect(count(gateway, 'backend.flood.paused')).toBe(period);
        expect(process.gone).toBe(false);
        clock.leap(PERIOD_MS);
      }
      flood(process);
      await until(() => process.gone && !isRunning(process.pid), 'it was ended');
      await served(calls.other, done);
      expect(count(gateway, 'backend.flood.ended')).toBe(1);
      expect(warnings(gateway)).toHaveLength(1);
      expect(warnings(gateway)[0]).toMatchObject({ level: 'warn', facts: { backend: 'noisy' } });
    },
  );

  it(
    'that floods in the middle of a call fails the call by name, and the next call has a new process',
    verifies('gateway:backend:flood-ended'),
    async () => {
      let floods = true;
      const { clock, gateway, calls } = await start({
        'tools/call': (turn) => {
          if (floods) turn.process.print('noise\n'.repeat(FLOOD));
          else turn.result(done);
        },
      });
      const answer = calls.noisy.ask(1);
      for (let period = 1; period < PERIODS; period++) {
        await until(() => count(gateway, 'backend.flood.paused') === period, `it is paused (${period})`);
        clock.leap(PERIOD_MS);
      }
      expect(answered(await answer)).toEqual(refusal({ ...flooding, id: 1 }));
      floods = false;
      await served(await caller(era, gateway.url('noisy')), done);
    },
  );

  it('that floods within one period only continues after it', verifies('gateway:backend:flood-paused'), async () => {
    const { clock, noisy, gateway, calls } = await start({});
    await served(calls.noisy, done);
    const { process } = noisy.of('tools/call')[0] ?? {};
    process?.print('noise\n'.repeat(2 * BUDGET));
    await until(() => count(gateway, 'backend.flood.paused') === 1, 'it is paused');
    const waiting = calls.noisy.ask(1);
    await noisy.arrival('tools/call', 2);
    clock.leap(PERIOD_MS);
    expect(answered(await waiting)).toEqual(result(1, done));
    expect(count(gateway, 'backend.noise.stdout')).toBe(2 * BUDGET);
    expect(process?.gone).toBe(false);
  });

  const reporting = (reports: number): StdioScript => ({
    'tools/call': (turn) => {
      const { progressToken } = turn.message.params._meta;
      const report = (progress: number) => line(notification('notifications/progress', { progressToken, progress }));
      turn.process.print(Array.from({ length: reports }, (_, n) => report(n + 1)).join(''));
      turn.result(done);
    },
  });
  const params = { name: 'work', arguments: {}, _meta: { progressToken: 'mine' } };

  it(
    'that reports much progress on a running call is not paused',
    verifies('gateway:backend:chatty-call-unpunished'),
    async () => {
      const { gateway, calls } = await start(reporting(CALL_BUDGET));
      const answer = await calls.noisy.ask(1, 'tools/call', params);
      expect(answered(answer)).toEqual(result(1, done));
      expect(messagesOf(answer).at(-2)).toMatchObject({ params: { progressToken: 'mine', progress: CALL_BUDGET } });
      expect(count(gateway, 'backend.flood.paused')).toBe(0);
    },
  );

  it(
    'that floods a running call with its progress is paused, and never ended',
    verifies('gateway:backend:chatty-call-unpunished'),
    async () => {
      const { clock, gateway, calls } = await start(reporting((PERIODS + 1) * (CALL_BUDGET + 1)));
      const answer = calls.noisy.ask(1, 'tools/call', params);
      for (let period = 1; period <= PERIODS + 1; period++) {
        await until(() => count(gateway, 'backend.flood.paused') === period, `it is paused (${period})`);
        await served(calls.other, done);
        clock.leap(PERIOD_MS);
      }
      expect(answered(await answer)).toEqual(result(1, done));
      expect(count(gateway, 'backend.flood.ended')).toBe(0);
    },
  );
});

describe('a process that writes only messages without a call', () => {
  it.each([
    { name: 'noise', print: 'noise\n', read: (gateway: TestGateway) => count(gateway, 'backend.noise.stdout') },
    {
      name: 'responses with unknown ids',
      print: line(result('unknown', {})),
      read: (gateway: TestGateway) => count(gateway, 'backend.noise.unknown_id'),
    },
    {
      name: 'pings',
      print: line(request('ping', 'ping')),
      read: (_: TestGateway, { received }: BackendProcess) => received.filter(({ id }) => id === 'ping').length,
    },
    {
      name: 'log messages',
      // The noise behind it tells that it was read.
      print: `${line(notification('notifications/message', { level: 'info', data: 'x' }))}noise\n`,
      read: (gateway: TestGateway) => count(gateway, 'backend.noise.stdout'),
    },
  ])('($name) is idle and is ended after its idle time', verifies('gateway:backend:noise-is-idle'), async (row) => {
    const clock = new LeapClock();
    const backend = await legacyProcess({ 'tools/call': (turn) => turn.result(text('done')) });
    const { command, args } = backend;
    const gateway = await startGateway({ backends: { b: { command, args, idleMs: 60_000 } } }, { clock });
    const client = await caller('legacy', gateway.url('b'));
    expect(answered(await client.ask(1))).toEqual(result(1, text('done')));
    const { process } = await backend.arrival('tools/call');
    for (const [n, leapMs] of [25_000, 25_000, 11_000].entries()) {
      process.print(row.print);
      await until(() => row.read(gateway, process) === n + 1, `it was read (${n + 1})`);
      clock.leap(leapMs);
    }
    await until(() => process.gone, 'it was ended');
    expect(process.told).toEqual(['end']);
  });
});
