/**
 * Pipes and streams of one backend: those that flood use up what all of them share, and the others are heard all the
 * same.
 */
import { describe, expect, it } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import { Office } from '../credentials/office.ts';
import { notification, result, text } from '../harness/behind.ts';
import { type Json, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { sseBackend } from '../harness/sse-backend.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';
import { FOREVER_MS, limits as flooding } from './flooding.ts';
import { caller, count, messagesOf } from './setup.ts';

const BUDGET = 200;
const limits = { ...flooding, unsolicitedMessages: BUDGET, sseAfterMs: 0 };
/** Of one call: it is paused. Two of them: what all pipes and streams share is spent. */
const FLOOD = 10 * BUDGET + 1;
/** What each pipe may say even then. */
const SHARE = BUDGET / 20;

const done = { resultType: 'complete', ...text('done') };

interface Turn {
  readonly message: Json;
  say(message: unknown): void;
}

interface Opened {
  readonly backend: ConfigValue;
  turns(): readonly Turn[];
}

const http = (start: typeof modernBackend) => async (): Promise<Opened> => {
  const turns: Turn[] = [];
  const { url } = await start({
    'tools/call': (turn) => {
      turn.stream();
      turns.push({
        message: turn.message,
        say: (message) => {
          turn.event(message);
          if ((message as Json).result !== undefined) turn.end();
        },
      });
    },
  });
  return { backend: { url }, turns: () => turns };
};

const places = [
  { name: 'streams of calls (modern)', era: 'modern', open: http(modernBackend) },
  { name: 'streams of calls (legacy)', era: 'legacy', open: http(legacyBackend) },
  {
    name: 'streams of HTTP+SSE sessions (legacy)',
    era: 'legacy',
    open: async (): Promise<Opened> => {
      const { url, of } = await sseBackend({ 'tools/call': () => undefined });
      const turns = () =>
        of('tools/call').map(({ message, session }) => ({ message, say: (said: unknown) => session.say(said) }));
      return { backend: { url, transport: 'sse' }, turns };
    },
  },
  {
    name: 'processes of sessions (legacy)',
    era: 'legacy',
    open: async (): Promise<Opened> => {
      const { command, args, of } = await legacyProcess({ 'tools/call': () => undefined });
      const turns = () =>
        of('tools/call').map(({ message, process }) => ({ message, say: (said: unknown) => process.say(said) }));
      return { backend: { command, args, idleMs: FOREVER_MS }, turns };
    },
  },
] satisfies readonly { readonly name: string; readonly era: Era; open(): Promise<Opened> }[];

describe.each(places)('when two of the $name use up the budget of a backend', ({ era, open }) => {
  it(
    'a third that sends little is read immediately, and paused only above its share',
    verifies('gateway:backend:flood-spares-quiet'),
    async () => {
      const clock = new LeapClock();
      const { backend, turns } = await open();
      const gateway = await startGateway({ backends: { b: backend }, limits }, { clock });
      const begin = async (n: number) => {
        const client = await caller(era, gateway.url('b'));
        const params = { name: 'work', arguments: {}, _meta: { progressToken: n } };
        const answer = await client.begin(n, 'tools/call', params);
        await until(() => turns().length === n, `the backend got the call (${n})`);
        const { message, say } = turns()[n - 1] as Turn;
        const { progressToken } = message.params._meta;
        const report = (progress: number) => say(notification('notifications/progress', { progressToken, progress }));
        return { answer, report, end: () => say(result(message.id, done)) };
      };
      const paused = () => count(gateway, 'backend.flood.paused');
      const noisy = [await begin(1), await begin(2)];
      const quiet = await begin(3);
      // What opened the streams counts for another period.
      clock.leap(limits.unsolicitedMs);
      for (const { report } of noisy) for (let n = 1; n <= FLOOD; n++) report(n);
      await until(() => paused() === 2, 'both are paused');

      const heard = () => messagesOf(quiet.answer).length;
      for (let n = 1; n <= SHARE; n++) {
        quiet.report(n);
        await until(() => heard() === n, `it is heard (${n})`);
      }
      expect(paused()).toBe(2);
      quiet.report(SHARE + 1);
      await until(() => paused() === 3, 'it is paused');

      for (const one of [...noisy, quiet]) one.end();
      clock.leap(limits.unsolicitedMs);
      for (const [n, { answer }] of [...noisy, quiet].entries()) {
        await answer.ended;
        expect(messagesOf(answer).at(-1)).toMatchObject({ id: n + 1, result: text('done') });
      }
      expect(count(gateway, 'backend.flood.ended')).toBe(0);
    },
  );
});

describe('a backend that each principal has their own credentials for', () => {
  it(
    'has one budget for the streams of all principals',
    verifies('gateway:backend:flood-paused', 'gateway:backend:flood-spares-quiet'),
    async () => {
      const clock = new LeapClock();
      const noise = `data: ${JSON.stringify(result('unknown', {}))}\n\n`.repeat(BUDGET);
      const office = await Office.open({
        backend: 'modern',
        script: {
          'tools/call': (turn) => turn.stream().bytes(noise).event(result(turn.message.id, done)).end(),
        },
        limits,
        ports: { clock },
      });
      const client = (name: 'ada' | 'bob' | 'cyd') =>
        office.client({ client: 'modern', door: 'single' }, office.employee(name));
      const paused = () => count(office.gateway, 'backend.flood.paused');
      for (const name of ['ada', 'bob'] as const) {
        const one = await client(name);
        for (let n = 0; n < 10; n++) expect(await one.call('work')).toMatchObject({ result: text('done') });
      }
      expect(paused()).toBe(0);
      const answer = (await client('cyd')).call('work');
      await until(() => paused() === 1, 'the third is paused');
      clock.leap(limits.unsolicitedMs);
      expect(await answer).toMatchObject({ result: text('done') });
    },
  );
});
