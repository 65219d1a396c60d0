/** A stdio backend that writes without end what belongs to no call: it is paused, then ended, and others are served. */
import { describe, expect, it } from 'vitest';
import { isRunning } from '../../backend/support/processes.ts';
import { verifies } from '../../requirements/verifies.ts';
import { notification, request, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { type BackendProcess, legacyProcess, modernProcess, type StdioScript } from '../harness/stdio-backend.ts';
import { answered, type Caller, caller, count, messagesOf } from './setup.ts';

const processOf = { legacy: legacyProcess, modern: modernProcess };

/** Long enough that the machine's own time never ends a period. */
const PERIOD_MS = 3_600_000;
const BUDGET = 50;
const PERIODS = 3;
/** Of one write: several periods' worth. */
const FLOOD = 20 * BUDGET;
const limits = {
  unsolicitedMessages: BUDGET,
  unsolicitedMs: PERIOD_MS,
  unsolicitedPeriods: PERIODS,
  // Time leaps by hours here.
  probeAgeMs: 20 * 24 * PERIOD_MS,
  sessionIdleMs: 20 * 24 * PERIOD_MS,
  sessionMaxMs: 20 * 24 * PERIOD_MS,
  totalMs: 20 * 24 * PERIOD_MS,
  firstByteMs: 20 * 24 * PERIOD_MS,
  idleMs: 20 * 24 * PERIOD_MS,
};
const idleMs = 20 * 24 * PERIOD_MS;

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
    flood: (process) => process.complain('complaint\n'.repeat(FLOOD)),
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
          noisy: { command: noisy.command, args: noisy.args, idleMs },
          other: { command: other.command, args: other.args, idleMs },
        },
        limits,
      },
      { clock },
    );
    const calls = { noisy: await caller(era, gateway.url('noisy')), other: await caller(era, gateway.url('other')) };
    return { clock, noisy, gateway, calls };
  };
  let id = 100;
  const served = async (client: Caller) => {
    id += 1;
    expect(answered(await client.ask(id))).toEqual(result(id, done));
  };
  const warnings = (gateway: TestGateway) => gateway.log.filter(({ facts }) => facts.reason === 'backend_flooding');

  it.each(kinds)(
    'that floods with $name is paused, then ended by name, while another backend is served',
    verifies('gateway:backend:flood-paused', 'gateway:backend:flood-ended'),
    async ({ flood, read }) => {
      const { clock, noisy, gateway, calls } = await start({});
      await served(calls.noisy);
      await served(calls.other);
      const { process } = noisy.of('tools/call')[0] ?? {};
      if (process === undefined) throw new Error('the call reached no process');
      for (let period = 1; period < PERIODS; period++) {
        flood(process);
        await until(() => count(gateway, 'backend.flood.paused') === period, `it is paused (${period})`);
        for (let n = 0; n < 3; n++) await served(calls.other);
        if (read !== undefined) expect(read(gateway, process)).toBe(period * (BUDGET + 1));
        expect(count(gateway, 'backend.flood.paused')).toBe(period);
        expect(process.gone).toBe(false);
        clock.leap(PERIOD_MS);
      }
      flood(process);
      await until(() => process.gone && !isRunning(process.pid), 'it was ended');
      await served(calls.other);
      expect(count(gateway, 'backend.flood.ended')).toBe(1);
      expect(warnings(gateway)).toHaveLength(1);
      expect(warnings(gateway)[0]).toMatchObject({ level: 'warn', facts: { backend: 'noisy' } });
    },
  );

  it(
    'that floods within one period alone goes on after it',
    verifies('gateway:backend:flood-paused'),
    async () => {
      const { clock, noisy, gateway, calls } = await start({});
      await served(calls.noisy);
      const { process } = noisy.of('tools/call')[0] ?? {};
      process?.print('noise\n'.repeat(2 * BUDGET));
      await until(() => count(gateway, 'backend.flood.paused') === 1, 'it is paused');
      const waiting = calls.noisy.ask(1);
      await noisy.arrival('tools/call', 2);
      clock.leap(PERIOD_MS);
      expect(answered(await waiting)).toEqual(result(1, done));
      expect(count(gateway, 'backend.noise.stdout')).toBe(2 * BUDGET);
      expect(process?.gone).toBe(false);
    },
  );

  it(
    'that reports much progress on a running call is not paused',
    verifies('gateway:backend:chatty-call-unpunished'),
    async () => {
      const reports = 10 * BUDGET;
      const { gateway, calls } = await start({
        'tools/call': (turn) => {
          const { progressToken } = turn.message.params._meta;
          const report = (progress: number) => line(notification('notifications/progress', { progressToken, progress }));
          turn.process.print(Array.from({ length: reports }, (_, n) => report(n + 1)).join(''));
          turn.result(done);
        },
      });
      const params = { name: 'work', arguments: {}, _meta: { progressToken: 'mine' } };
      const answer = await calls.noisy.ask(1, 'tools/call', params);
      expect(answered(answer)).toEqual(result(1, done));
      expect(messagesOf(answer).at(-2)).toMatchObject({ params: { progressToken: 'mine', progress: reports } });
      expect(count(gateway, 'backend.flood.paused')).toBe(0);
    },
  );
});

describe('a process that writes only what belongs to no call', () => {
  it.each([
    { name: 'noise', print: 'noise\n', counter: 'backend.noise.stdout' },
    { name: 'responses with unknown ids', print: line(result('unknown', {})), counter: 'backend.noise.unknown_id' },
  ])('($name) is idle and is ended after its idle time', verifies('gateway:backend:noise-is-idle'), async (row) => {
    const clock = new LeapClock();
    const backend = await legacyProcess({ 'tools/call': (turn) => turn.result(text('done')) });
    const { command, args } = backend;
    const gateway = await startGateway({ backends: { b: { command, args, idleMs: 60_000 } } }, { clock });
    const client = await caller('legacy', gateway.url('b'));
    expect(answered(await client.ask(1))).toEqual(result(1, text('done')));
    const { process } = await backend.arrival('tools/call');
    for (let n = 1; n <= 3; n++) {
      process.print(row.print);
      await until(() => count(gateway, row.counter) === n, `line ${n} was read`);
      clock.leap(25_000);
    }
    await until(() => process.gone, 'it was ended');
    expect(process.told).toEqual(['end']);
  });
});
