/**
 * An HTTP backend that fills a stream with what belongs to no call: it is paused, then ended, and others are served.
 */
import { describe, expect, it } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import { notification, refusal, request, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type Turn } from '../harness/http-backend.ts';
import { sseBackend } from '../harness/sse-backend.ts';
import { BUDGET, CALL_BUDGET, FLOOD, flooding, limits, PERIOD_MS, PERIODS, served, warnings } from './flooding.ts';
import { answered, type Caller, caller, count, timedOut, tool } from './setup.ts';

const done = { resultType: 'complete', ...text('done') };
const event = (message: unknown) => `data: ${JSON.stringify(message)}\n\n`;
const backendOf = { legacy: legacyBackend, modern: modernBackend };

interface Place {
  readonly name: string;
  readonly era: Era;
  /** Has a stream opened, and the gateway in front of it and of a second backend. */
  open(): Promise<Opened>;
}

interface Opened {
  readonly gateway: TestGateway;
  readonly clock: LeapClock;
  readonly other: Caller;
  write(bytes: string): void;
  /** What becomes of the stream when it is ended. */
  ended(): Promise<void>;
}

/** A gateway in front of the backend and of a second one, which answers every call. */
async function inFront(era: Era, backend: object, more: Readonly<Record<string, number>> = {}) {
  const clock = new LeapClock();
  const quiet = await backendOf[era]({ 'tools/call': (turn) => turn.result(done) });
  const gateway = await startGateway(
    { backends: { noisy: backend, other: { url: quiet.url } }, limits: { ...limits, ...more } },
    { clock },
  );
  const other = await caller(era, gateway.url('other'));
  return { clock, gateway, other };
}

function callPlace(era: Era): Place {
  return {
    name: `the stream of a call (${era})`,
    era,
    open: async () => {
      let turn: Turn | undefined;
      const script: Script = {
        'tools/call': (one) => {
          turn = one.stream();
        },
      };
      const backend = await backendOf[era](script);
      const front = await inFront(era, { url: backend.url });
      const answer = (await caller(era, front.gateway.url('noisy'))).ask(1);
      await backend.arrival('tools/call');
      return {
        ...front,
        write: (bytes) => void turn?.bytes(bytes),
        ended: async () => {
          expect(answered(await answer)).toEqual(refusal({ ...flooding, id: 1 }));
          await turn?.closed;
        },
      };
    },
  };
}

const places: readonly Place[] = [
  callPlace('legacy'),
  callPlace('modern'),
  {
    name: 'the stream of a subscription (modern)',
    era: 'modern',
    open: async () => {
      let turn: Turn | undefined;
      const backend = await modernBackend({
        'subscriptions/listen': (one) => {
          turn ??= one.stream();
        },
      });
      const front = await inFront('modern', { url: backend.url });
      const params = { notifications: { toolsListChanged: true } };
      const answer = (await caller('modern', front.gateway.url('noisy'))).ask(1, 'subscriptions/listen', params);
      await backend.arrival('subscriptions/listen');
      return {
        ...front,
        write: (bytes) => void turn?.bytes(bytes),
        ended: async () => {
          await turn?.closed;
          await answer;
        },
      };
    },
  },
  {
    name: 'the standalone stream (legacy)',
    era: 'legacy',
    open: async () => {
      const backend = await legacyBackend({ 'tools/call': (turn) => turn.result(done) });
      const front = await inFront('legacy', { url: backend.url });
      await served(await caller('legacy', front.gateway.url('noisy')), done);
      const turn = await backend.standing();
      return { ...front, write: (bytes) => void turn.bytes(bytes), ended: () => turn.closed };
    },
  },
  {
    name: 'the stream of an HTTP+SSE session (legacy)',
    era: 'legacy',
    open: async () => {
      const backend = await sseBackend({
        'tools/call': ({ message, session }) => session.say(result(message.id, done)),
      });
      const front = await inFront('legacy', { url: backend.url, transport: 'sse' });
      await served(await caller('legacy', front.gateway.url('noisy')), done);
      const { session } = backend.of('tools/call')[0] ?? {};
      return {
        ...front,
        write: (bytes) => session?.write(bytes),
        ended: () => until(() => !backend.sessions.has(session?.id ?? ''), 'the stream was ended'),
      };
    },
  },
];

interface Kind {
  readonly name: string;
  readonly bytes: string;
  /** How many of them were read. Absent where no counter tells. */
  read?(gateway: TestGateway, era: Era): number;
}

const kinds: readonly Kind[] = [
  {
    name: 'responses with unknown ids',
    bytes: event(result('unknown', {})),
    read: (gateway) => count(gateway, 'backend.noise.unknown_id'),
  },
  { name: 'requests', bytes: event(request('q', 'ping')) },
  {
    name: 'progress of no call',
    bytes: event(notification('notifications/progress', { progressToken: 'x', progress: 1 })),
    read: (gateway) => count(gateway, 'backend.odd.unattributed'),
  },
  { name: 'list changes', bytes: event(notification('notifications/tools/list_changed')) },
  {
    name: 'events that are no messages',
    bytes: 'data: noise\n\n',
    read: (gateway) => count(gateway, 'backend.noise.unreadable'),
  },
  { name: 'events of other kinds', bytes: 'event: ping\ndata: 1\n\n' },
  { name: 'comments', bytes: ':\n\n' },
  { name: 'lines that end no event', bytes: 'a\n' },
];

describe.each(places)('a backend that floods $name', ({ era, open }) => {
  it.each(kinds)(
    'with $name is paused, then closed by name, while another backend is served',
    verifies('gateway:backend:flood-paused', 'gateway:backend:flood-ended'),
    async ({ bytes, read }) => {
      const { gateway, clock, other, write, ended } = await open();
      // What opened the stream counts for another period.
      clock.leap(PERIOD_MS);
      for (let period = 1; period < PERIODS; period++) {
        write(bytes.repeat(FLOOD));
        await until(() => count(gateway, 'backend.flood.paused') === period, `it is paused (${period})`);
        for (let n = 0; n < 3; n++) await served(other, done);
        if (read !== undefined) expect(read(gateway, era)).toBe(period * (BUDGET + 1));
        expect(count(gateway, 'backend.flood.paused')).toBe(period);
        clock.leap(PERIOD_MS);
      }
      write(bytes.repeat(FLOOD));
      await ended();
      await served(other, done);
      expect(count(gateway, 'backend.flood.ended')).toBe(1);
      expect(warnings(gateway)).toHaveLength(1);
      expect(warnings(gateway)[0]).toMatchObject({ level: 'warn', facts: { backend: 'noisy' } });
    },
  );
});

it.each(places)(
  'a comment on $name counts once, and not again for the line break that ends it',
  verifies('gateway:backend:flood-paused'),
  async ({ open }) => {
    const { gateway, clock, write } = await open();
    clock.leap(PERIOD_MS);
    const comments = Math.floor(BUDGET * 0.8);
    const read = count(gateway, 'backend.noise.unknown_id');
    write(`${':\n\n'.repeat(comments)}${event(result('unknown', {}))}`);
    await until(() => count(gateway, 'backend.noise.unknown_id') > read, 'the stream was read');
    expect(count(gateway, 'backend.flood.paused')).toBe(0);
  },
);

describe.each(eras)('a %s call', (era) => {
  it(
    'whose stream floods within one period only is answered after it',
    verifies('gateway:backend:flood-paused'),
    async () => {
      const noise = event(result('unknown', {})).repeat(2 * BUDGET);
      const backend = await backendOf[era]({
        'tools/call': (turn) => turn.stream().bytes(noise).event(result(turn.message.id, done)).end(),
      });
      const { clock, gateway } = await inFront(era, { url: backend.url });
      const answer = (await caller(era, gateway.url('noisy'))).ask(1);
      await until(() => count(gateway, 'backend.flood.paused') === 1, 'it is paused');
      clock.leap(PERIOD_MS);
      expect(answered(await answer)).toEqual(result(1, done));
      expect(count(gateway, 'backend.noise.unknown_id')).toBe(2 * BUDGET);
    },
  );

  it(
    'that times out while its stream is paused leaves nothing open',
    verifies('gateway:backend:flood-paused'),
    async () => {
      let turn: Turn | undefined;
      const backend = await backendOf[era]({
        'tools/call': (one) => {
          turn = one.stream().bytes(event(result('unknown', {})).repeat(FLOOD));
        },
      });
      const { clock, gateway } = await inFront(era, { url: backend.url }, { totalMs: PERIOD_MS / 2 });
      const answer = (await caller(era, gateway.url('noisy'))).ask(1);
      await until(() => count(gateway, 'backend.flood.paused') === 1, 'it is paused');
      clock.leap(PERIOD_MS / 2 + 1);
      expect(answered(await answer)).toEqual(refusal({ ...timedOut('totalMs'), id: 1 }));
      await turn?.closed;
      expect(count(gateway, 'backend.noise.unknown_id')).toBe(BUDGET + 1);
    },
  );

  const reporting = async (reports: number) => {
    const backend = await backendOf[era]({
      'tools/call': (turn) => {
        const { progressToken } = turn.message.params._meta;
        turn.stream();
        for (let progress = 1; progress <= reports; progress++) {
          turn.event(notification('notifications/progress', { progressToken, progress }));
        }
        turn.event(result(turn.message.id, done)).end();
      },
    });
    const front = await inFront(era, { url: backend.url });
    const params = { ...tool, _meta: { progressToken: 'mine' } };
    return { ...front, answer: (await caller(era, front.gateway.url('noisy'))).ask(1, 'tools/call', params) };
  };

  it('that reports much progress is not paused', verifies('gateway:backend:chatty-call-unpunished'), async () => {
    const { gateway, answer } = await reporting(CALL_BUDGET);
    expect(answered(await answer)).toEqual(result(1, done));
    expect(count(gateway, 'backend.flood.paused')).toBe(0);
  });

  it(
    'that floods with its progress is paused, and never ended',
    verifies('gateway:backend:chatty-call-unpunished'),
    async () => {
      const { clock, gateway, other, answer } = await reporting((PERIODS + 1) * (CALL_BUDGET + 1));
      for (let period = 1; period <= PERIODS + 1; period++) {
        await until(() => count(gateway, 'backend.flood.paused') === period, `it is paused (${period})`);
        await served(other, done);
        clock.leap(PERIOD_MS);
      }
      expect(answered(await answer)).toEqual(result(1, done));
      expect(count(gateway, 'backend.flood.ended')).toBe(0);
    },
  );
});

describe('many streams of a backend', () => {
  it(
    'that flood together, each within its budget, are paused together, and none is closed',
    verifies('gateway:backend:flood-paused'),
    async () => {
      const together = 20 * BUDGET;
      const streams = 30;
      const noise = event(result('unknown', {})).repeat(BUDGET);
      const backend = await modernBackend({
        'tools/call': (turn) => turn.stream().bytes(noise).event(result(turn.message.id, done)).end(),
      });
      const { clock, gateway, other } = await inFront('modern', { url: backend.url });
      const noisy = await caller('modern', gateway.url('noisy'));
      const read = () => count(gateway, 'backend.noise.unknown_id');
      const answers = Array.from({ length: streams }, (_, n) => noisy.ask(n));
      await until(() => read() > together, 'the budget is spent');
      for (let n = 0; n < 3; n++) await served(other, done);
      expect(read()).toBeLessThanOrEqual(together + streams);
      clock.leap(PERIOD_MS);
      for (const [n, answer] of (await Promise.all(answers)).entries()) {
        expect(answered(answer)).toEqual(result(n, done));
      }
      expect(read()).toBe(streams * BUDGET);
      expect(count(gateway, 'backend.flood.ended')).toBe(0);
    },
  );
});
