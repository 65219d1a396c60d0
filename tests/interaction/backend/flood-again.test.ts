/** A stream of an HTTP backend that was ended for a flood, and floods again whenever it is opened. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { hasRead, notification, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { BUDGET, FLOOD, served } from './flooding.ts';
import { answered, caller, count } from './setup.ts';

const done = { resultType: 'complete', ...text('done') };
const event = (message: unknown) => `data: ${JSON.stringify(message)}\n\n`;

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
    'is opened at longer and longer pauses where it stands alone, and at once when it stood without a flood',
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
});
