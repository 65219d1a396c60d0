/** A stream of an HTTP backend that was ended for a flood: what came behind it, and what becomes of the next one. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, heard } from '../catalog/setup.ts';
import { hasRead, notification, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { BUDGET, FLOOD, served } from './flooding.ts';
import { answered, caller, count } from './setup.ts';

const done = { resultType: 'complete', ...text('done') };
const event = (message: unknown) => `data: ${JSON.stringify(message)}\n\n`;

const toolsChanged = 'notifications/tools/list_changed';

/** The first period over the budget ends a stream. */
const atOnce = { unsolicitedMessages: BUDGET, unsolicitedPeriods: 1 };

/** Time goes on while nothing is left to read. */
async function afterTenMinutes(clock: LeapClock, isRead: () => boolean): Promise<void> {
  const end = clock.now() + 600_000;
  await until(() => {
    if (isRead()) clock.leap(2_000);
    return clock.now() >= end;
  }, 'ten minutes are over');
}

describe('a stream that floods each time it is opened', () => {
  it(
    'is opened at longer and longer pauses where it is a subscription, though each is acknowledged',
    verifies('gateway:backend:flood-backs-off'),
    async () => {
      const clock = new LeapClock();
      const streams: Turn[] = [];
      const backend = await modernBackend({
        'subscriptions/listen': (turn) => {
          streams.push(turn);
          const _meta = { 'io.modelcontextprotocol/subscriptionId': turn.message.id };
          const { notifications } = turn.message.params;
          turn.stream().event(notification('notifications/subscriptions/acknowledged', { notifications, _meta }));
          turn.bytes(event(result('unknown', {})).repeat(FLOOD));
        },
        'tools/call': (turn) => turn.result(done),
      });
      const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits: atOnce }, { clock });
      const client = await caller('legacy', gateway.url('b'));
      await afterTenMinutes(clock, () => count(gateway, 'backend.flood.ended') === streams.length);
      expect(streams.length).toBeGreaterThan(10);
      expect(streams.length).toBeLessThan(60);
      expect(answered(await client.ask(1))).toEqual(result(1, text('done')));
    },
  );

  it(
    'is reopened with backoff if it is alone, and immediately after a period without a flood',
    verifies('gateway:backend:flood-backs-off'),
    async () => {
      const clock = new LeapClock();
      const streams: Turn[] = [];
      let floods = true;
      const backend = await legacyBackend({
        GET: (turn) => {
          streams.push(turn);
          turn.stream().bytes('retry: 0\n\n');
          if (floods) turn.bytes(event(result('unknown', {})).repeat(FLOOD));
        },
        'tools/call': (turn) => turn.result(done),
      });
      const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits: atOnce }, { clock });
      const client = await caller('legacy', gateway.url('b'));
      await served(client, done);
      await afterTenMinutes(clock, () => count(gateway, 'backend.flood.ended') === streams.length);
      expect(streams.length).toBeGreaterThan(10);
      expect(streams.length).toBeLessThan(60);

      floods = false;
      const before = streams.length;
      await until(() => {
        if (streams.length === before) clock.leap(1_000);
        return streams.length > before;
      }, 'it is opened again');
      await hasRead(backend, streams.at(-1) as Turn);
      clock.leap(11_000);
      streams.at(-1)?.end();
      await until(() => streams.length > before + 1, 'it is opened at once');
      await served(client, done);
    },
  );

  it(
    'is notified of missed changes once it is open, though it was noisy before',
    verifies('gateway:backend:flood-backs-off'),
    async () => {
      const clock = new LeapClock();
      const streams: Turn[] = [];
      const backend = await legacyBackend({
        GET: (turn) => {
          turn.stream();
          if (streams.push(turn) === 1) turn.bytes(event(result('unknown', {})).repeat(FLOOD));
        },
      });
      const gateway = await startGateway(
        { backends: { b: { url: backend.url } }, limits: { unsolicitedMessages: BUDGET, unsolicitedPeriods: 2 } },
        { clock },
      );
      const guest = await enter('legacy', gateway.url('b'));
      const client = await guest.listen({});
      await until(() => {
        clock.leap(10);
        return streams.length === 2;
      }, 'it is opened again after a flood');
      // Into a period that the flood has no part in.
      clock.leap(2_000);
      await hasRead(backend, streams[1] as Turn);
      const paused = count(gateway, 'backend.flood.paused');
      clock.leap(7_000);
      streams[1]?.bytes(event(result('unknown', {})).repeat(2 * BUDGET));
      await until(() => count(gateway, 'backend.flood.paused') > paused, 'it is paused');
      clock.leap(1_000);
      expect(heard(client, toolsChanged)).toEqual([]);
      clock.leap(30_000);
      await client.message(({ method }) => method === toolsChanged);
    },
  );

  it(
    'with an event over the limit is opened at longer and longer pauses',
    verifies('gateway:backend:flood-backs-off'),
    async () => {
      const clock = new LeapClock();
      let streams = 0;
      const backend = await legacyBackend({
        GET: (turn) => {
          streams += 1;
          turn.stream().bytes(`retry: 0\n\ndata: ${'x'.repeat(5_000)}`);
        },
        'tools/call': (turn) => turn.result(done),
      });
      const limits = { resultBytes: 4_096 };
      const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits }, { clock });
      const client = await caller('legacy', gateway.url('b'));
      await served(client, done);
      await afterTenMinutes(clock, () => count(gateway, 'backend.noise.unreadable') === streams);
      expect(streams).toBeGreaterThan(10);
      expect(streams).toBeLessThan(60);
      await served(client, done);
    },
  );
});

describe('messages after a flood', () => {
  it('in the same chunk is not handed on', verifies('gateway:backend:flood-ended'), async () => {
    const backend = await legacyBackend({ 'tools/call': (turn) => turn.result(done) });
    const gateway = await startGateway({ backends: { noisy: { url: backend.url } }, limits: atOnce });
    await served(await caller('legacy', gateway.url('noisy')), done);
    const turn = await backend.standing();
    const stray = event(notification('notifications/progress', { progressToken: 'x', progress: 1 }));
    turn.bytes(':\n'.repeat(2 * BUDGET) + stray);
    await turn.closed;
    expect(count(gateway, 'backend.flood.ended')).toBe(1);
    expect(count(gateway, 'backend.odd.unattributed')).toBe(0);
  });

  it(
    'in the same batch is not handed on, and one end is counted',
    verifies('gateway:backend:flood-ended'),
    async () => {
      const backend = await legacyBackend({ 'tools/call': (turn) => turn.result(done) });
      const gateway = await startGateway({ backends: { noisy: { url: backend.url } }, limits: atOnce });
      await served(await caller('legacy', gateway.url('noisy')), done);
      const turn = await backend.standing();
      turn.event(Array.from({ length: 2 * BUDGET }, () => result('unknown', {})));
      await turn.closed;
      expect(count(gateway, 'backend.flood.ended')).toBe(1);
      expect(count(gateway, 'backend.noise.unknown_id')).toBe(BUDGET + 1);
    },
  );
});
