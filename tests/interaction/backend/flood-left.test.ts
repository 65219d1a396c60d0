/** An HTTP backend that floods a stream and leaves while it is paused: the stream is over, and the gateway is not. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { refusal, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { startGateway } from '../harness/gateway.ts';
import { type Leaving, legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { sseBackend } from '../harness/sse-backend.ts';
import { BUDGET, limits, PERIOD_MS, served } from './flooding.ts';
import { answered, caller, count, invalid, unavailable } from './setup.ts';

const done = { resultType: 'complete', ...text('done') };
const noise = `data: ${JSON.stringify(result('unknown', {}))}\n\n`.repeat(2 * BUDGET);

interface Way {
  readonly how: Leaving;
  readonly isChunked: boolean;
  readonly connection: 'close' | 'keep-alive';
}

const ways: readonly Way[] = (['FIN', 'RST'] as const).flatMap((how) =>
  [true, false].flatMap((isChunked) =>
    (['close', 'keep-alive'] as const).map((connection) => ({ how, isChunked, connection })),
  ),
);

async function inFront(backend: object) {
  const clock = new LeapClock();
  const quiet = await modernBackend({ 'tools/call': (turn) => turn.result(done) });
  const gateway = await startGateway({ backends: { noisy: backend, other: { url: quiet.url } }, limits }, { clock });
  const other = await caller('modern', gateway.url('other'));
  /** The backend leaves once it is paused. What it left in the pipe is read in the next period. */
  const leaves = async (leave: () => void) => {
    await until(() => count(gateway, 'backend.flood.paused') > 0, 'it is paused');
    leave();
    for (let n = 0; n < 3; n++) await served(other, done);
    clock.leap(PERIOD_MS);
  };
  return { clock, gateway, other, leaves };
}

describe.each(ways)('a backend that leaves with $how (chunked: $isChunked, $connection) while paused', (way) => {
  const { how, isChunked, connection } = way;
  /** An unfinished chunk before a close that was announced is no HTTP. */
  const failure = how === 'FIN' && isChunked && connection === 'close' ? invalid : unavailable;

  it.each(['legacy', 'modern'] as const)(
    'on the stream of a %s call fails that call alone',
    verifies('gateway:backend:flood-left'),
    async (era) => {
      const turns: Turn[] = [];
      const backend = await { legacy: legacyBackend, modern: modernBackend }[era]({
        'tools/call': (turn) => {
          if (turns.push(turn) > 1) turn.result(done);
          else turn.stream({ connection }, isChunked).bytes(noise);
        },
      });
      const { gateway, leaves } = await inFront({ url: backend.url });
      const client = await caller(era, gateway.url('noisy'));
      const answer = client.ask(1);
      await leaves(() => turns[0]?.leave(how));
      expect(answered(await answer)).toEqual(refusal({ ...failure, id: 1 }));
      await served(client, done);
    },
  );

  it('on the standalone stream has it opened again', verifies('gateway:backend:flood-left'), async () => {
    const streams: Turn[] = [];
    const backend = await legacyBackend({
      GET: (turn) => {
        turn.stream({ connection }, isChunked);
        if (streams.push(turn) === 1) turn.bytes(noise);
      },
      'tools/call': (turn) => turn.result(done),
    });
    const { clock, gateway, leaves } = await inFront({ url: backend.url });
    const client = await caller('legacy', gateway.url('noisy'));
    await served(client, done);
    await leaves(() => streams[0]?.leave(how));
    await until(() => {
      clock.leap(100);
      return streams.length > 1;
    }, 'it is opened again');
    await served(client, done);
  });

  it(
    'on the stream of an HTTP+SSE session ends that session alone',
    verifies('gateway:backend:flood-left'),
    async () => {
      let calls = 0;
      const backend = await sseBackend(
        {
          'tools/call': ({ message, session }) => {
            calls += 1;
            if (calls > 1) session.say(result(message.id, done));
            else session.write(noise);
          },
        },
        { headers: { connection }, isChunked },
      );
      const { gateway, leaves } = await inFront({ url: backend.url, transport: 'sse' });
      const client = await caller('legacy', gateway.url('noisy'));
      const answer = client.ask(1);
      await leaves(() => backend.of('tools/call')[0]?.session.leave(how));
      expect(answered(await answer)).toEqual(refusal({ ...failure, id: 1 }));
      await served(await caller('legacy', gateway.url('noisy')), done);
    },
  );

  it('on the answer to a probe leaves the gateway running', verifies('gateway:backend:flood-left'), async () => {
    const probes: Turn[] = [];
    const backend = await legacyBackend({
      'server/discover': (turn) => {
        if (probes.push(turn) > 1) turn.error(-32601, 'Method not found', undefined, 400);
        else turn.stream({ connection }, isChunked).bytes(noise);
      },
      'tools/call': (turn) => turn.result(done),
    });
    const { gateway, leaves, other } = await inFront({ url: backend.url });
    const client = caller('legacy', gateway.url('noisy'));
    await leaves(() => probes[0]?.leave(how));
    await client.catch(() => undefined);
    await served(other, done);
  });
});
