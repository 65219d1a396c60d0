/**
 * What still comes of calls that were cancelled: a backend may be done before it hears of it. It is dropped, and is no
 * flood.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, cancelled, notification, refusal, result, text } from '../harness/behind.ts';
import { type Json, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { sseBackend } from '../harness/sse-backend.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';
import { CALL_BUDGET, FOREVER_MS, limits, PERIOD_MS, PERIODS } from './flooding.ts';
import { answered, count, messagesOf, startBeforeProcess, timedOut } from './setup.ts';

const done = text('done');
/** Alone over the budget of a period. */
const large = text('x'.repeat(100 * 4096));

interface Turn {
  readonly message: Json;
  say(message: unknown): void;
}

interface Opened {
  readonly backend: ConfigValue;
  /** The messages of a method, in order. */
  of(method: string): readonly Turn[];
}

interface Place {
  readonly name: string;
  open(): Promise<Opened>;
}

async function openProcess(start: typeof legacyProcess): Promise<Opened> {
  const { command, args, of } = await start({ 'tools/call': () => undefined });
  return {
    backend: { command, args, share: true, idleMs: FOREVER_MS },
    of: (method) => of(method).map(({ message, process }) => ({ message, say: (said) => process.say(said) })),
  };
}

const places: readonly Place[] = [
  { name: 'a shared process (legacy)', open: () => openProcess(legacyProcess) },
  { name: 'a shared process (modern)', open: () => openProcess(modernProcess) },
  {
    name: 'the stream of an HTTP+SSE session (legacy)',
    open: async () => {
      const { url, of } = await sseBackend({ 'tools/call': () => undefined });
      return {
        backend: { url, transport: 'sse' },
        of: (method) => of(method).map(({ message, session }) => ({ message, say: (said) => session.say(said) })),
      };
    },
  },
];

describe.each(places)('over $name', ({ open }) => {
  const start = async (more: Readonly<Record<string, number>> = {}) => {
    const clock = new LeapClock();
    const { backend, of } = await open();
    const gateway = await startGateway({ backends: { b: backend }, limits: { ...limits, ...more } }, { clock });
    const clients = [await connectLegacy(gateway.url('b')), await connectLegacy(gateway.url('b'))] as const;
    const nth = async (method: string, n: number): Promise<Turn> => {
      await until(() => of(method).length >= n, `the backend got ${method} (${n})`);
      return of(method)[n - 1] as Turn;
    };
    return { clock, gateway, clients, of, nth };
  };

  /** Called, cancelled, and not answered yet. */
  const abandon = async (client: LegacyClient, { of, nth }: Awaited<ReturnType<typeof start>>): Promise<Turn> => {
    const n = of('tools/call').length + 1;
    const dropped = of('notifications/cancelled').length + 1;
    const running = client.post(call(n, {}, { progressToken: n }));
    const turn = await nth('tools/call', n);
    await client.post(cancelled(n));
    await nth('notifications/cancelled', dropped);
    expect(messagesOf(await running)).toEqual([]);
    return turn;
  };

  const late = (gateway: TestGateway) => count(gateway, 'backend.noise.unknown_id');

  it(
    'large answers to cancelled calls neither pause nor end it, and other calls are served',
    verifies('gateway:backend:late-answers-no-flood'),
    async () => {
      const opened = await start();
      const { clock, gateway, clients, nth } = opened;
      const [client, other] = clients;
      for (let period = 1; period <= PERIODS + 1; period++) {
        const turn = await abandon(client, opened);
        turn.say(result(turn.message.id, large));
        await until(() => late(gateway) === period, `the late answer was read (${period})`);
        expect(count(gateway, 'backend.flood.paused')).toBe(0);
        const answer = other.post(call('other'));
        const mine = await nth('tools/call', 2 * period);
        mine.say(result(mine.message.id, done));
        expect(answered(await answer)).toEqual(result('other', done));
        clock.leap(limits.unsolicitedMs);
      }
      expect(count(gateway, 'backend.flood.ended')).toBe(0);
    },
  );

  it(
    'a large answer to a call that timed out does not pause it',
    verifies('gateway:backend:late-answers-no-flood'),
    async () => {
      const totalMs = PERIOD_MS / 4;
      const { clock, gateway, clients, nth } = await start({ totalMs });
      const answer = clients[0].post(call(1));
      const { message, say } = await nth('tools/call', 1);
      clock.leap(totalMs + 1);
      expect(answered(await answer)).toEqual(refusal({ ...timedOut('totalMs'), id: 1 }));
      say(result(message.id, large));
      await until(() => late(gateway) === 1, 'the late answer was read');
      expect(count(gateway, 'backend.flood.paused')).toBe(0);
    },
  );

  it(
    'a second answer to a cancelled call counts against the budget',
    verifies('gateway:backend:late-answers-no-flood'),
    async () => {
      const opened = await start();
      const turn = await abandon(opened.clients[0], opened);
      for (let n = 0; n < 2; n++) turn.say(result(turn.message.id, large));
      await until(() => count(opened.gateway, 'backend.flood.paused') === 1, 'it is paused');
      expect(late(opened.gateway)).toBe(2);
    },
  );

  it(
    'progress of a cancelled call has the budget of a call',
    verifies('gateway:backend:late-answers-no-flood'),
    async () => {
      const opened = await start();
      const { gateway } = opened;
      const { message, say } = await abandon(opened.clients[0], opened);
      const { progressToken } = message.params._meta;
      const report = (progress: number) => say(notification('notifications/progress', { progressToken, progress }));
      for (let progress = 1; progress <= CALL_BUDGET; progress++) report(progress);
      await until(() => count(gateway, 'backend.odd.unattributed') === CALL_BUDGET, 'all of it was read');
      expect(count(gateway, 'backend.flood.paused')).toBe(0);
      report(CALL_BUDGET + 1);
      await until(() => count(gateway, 'backend.flood.paused') === 1, 'it is paused');
    },
  );
});

describe('a process that only reports progress of a cancelled call', () => {
  it('is idle and is ended after its idle time', verifies('gateway:backend:noise-is-idle'), async () => {
    const clock = new LeapClock();
    const backend = await legacyProcess({ 'tools/call': () => undefined });
    const gateway = await startBeforeProcess(backend, { backend: { idleMs: 60_000 }, ports: { clock } });
    const client = await connectLegacy(gateway.url('b'));
    const running = client.post(call(1, {}, { progressToken: 1 }));
    const { process, message } = await backend.arrival('tools/call');
    await client.post(cancelled(1));
    await running;
    const { progressToken } = message.params._meta;
    for (const [n, leapMs] of [25_000, 25_000, 11_000].entries()) {
      process.say(notification('notifications/progress', { progressToken, progress: n + 1 }));
      await until(() => count(gateway, 'backend.odd.unattributed') === n + 1, `it was read (${n + 1})`);
      clock.leap(leapMs);
    }
    await until(() => process.gone, 'it was ended');
    expect(process.told).toEqual(['end']);
  });
});
