/** Streams of legacy HTTP backends that end before the answer: taken up again where that is possible, within bounds. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { refusal, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import type { Turn } from '../harness/http-backend.ts';
import { answered, messagesOf, type Pair, pairOf, said, unavailable } from './setup.ts';

/** The GETs that take up the stream of a call: those that name an event. */
function resumptions({ backend }: Pair) {
  return backend.received.filter(({ http, headers }) => http === 'GET' && headers['last-event-id'] !== undefined);
}

/** In this revision a client is not sent away and told to come back: its stream stays open. */
const stays = { revision: '2025-06-18' };

describe('a stream with event ids', () => {
  it(
    'that is cut is resumed after its last complete event, and nothing is delivered twice',
    verifies('gateway:backend:cut-stream-resumed', 'client-transport:http:reconnect-post-priming'),
    async () => {
      let id: number | undefined;
      const pair = await pairOf('legacy', {
        'tools/call': (turn) => {
          id = turn.message.id;
          turn
            .stream()
            .event('', { id: 'e0', retry: 50 })
            .event(said('one'), { id: 'e1' })
            .bytes('id: e2\ndata: {"json');
          setImmediate(() => turn.cut());
        },
        GET: (turn) => {
          turn.stream();
          // The standalone stream has no event to go on from.
          if (turn.received.headers['last-event-id'] === undefined) return;
          // Some servers begin with the event that was named.
          turn.event(said('one'), { id: 'e1' }).event(said('two'), { id: 'e2' });
          turn.event(result(id ?? 0, text('done')), { id: 'e3' }).end();
        },
      });
      const answer = await pair.ask(1);
      expect(messagesOf(answer)).toEqual([said('one'), said('two'), result(1, text('done'))]);
      const [resumed, ...more] = resumptions(pair);
      expect(more).toEqual([]);
      expect(resumed?.headers).toMatchObject({
        accept: 'text/event-stream',
        'last-event-id': 'e1',
        'mcp-session-id': 'upstream-2',
        'mcp-protocol-version': '2025-11-25',
      });
      expect(pair.backend.of('tools/call')).toHaveLength(1);
    },
  );

  it(
    'that fails to resume repeatedly is given up',
    verifies('gateway:backend:cut-stream-bounded', 'gateway:backend:cut-stream-fails'),
    async () => {
      const pair = await pairOf(
        'legacy',
        {
          'tools/call': (turn) => turn.stream().event('', { id: 'e0', retry: 1 }).end(),
          GET: (turn) => {
            turn.stream();
            // Each is accepted, and says nothing that helps: ids alone are no progress.
            if (turn.received.headers['last-event-id'] !== undefined) turn.event('', { id: 'e0' }).end();
          },
        },
        { limits: { reconnects: 3 }, client: stays },
      );
      expect(answered(await pair.ask(1))).toEqual(refusal({ ...unavailable, id: 1 }));
      expect(resumptions(pair)).toHaveLength(3);
      expect(pair.backend.of('tools/call')).toHaveLength(1);
    },
  );

  it('that makes progress is followed for longer', verifies('gateway:backend:cut-stream-bounded'), async () => {
    let round = 0;
    let id: number | undefined;
    const pair = await pairOf(
      'legacy',
      {
        'tools/call': (turn) => {
          id = turn.message.id;
          turn.stream().event('', { id: 'e0', retry: 1 }).end();
        },
        GET: (turn) => {
          turn.stream();
          if (turn.received.headers['last-event-id'] === undefined) return;
          round += 1;
          if (round < 5) turn.event(said(String(round)), { id: `e${round}` }).end();
          else turn.event(result(id ?? 0, text('done'))).end();
        },
      },
      { limits: { reconnects: 1 }, client: stays },
    );
    expect(answered(await pair.ask(1))).toEqual(result(1, text('done')));
    expect(resumptions(pair).map(({ headers }) => headers['last-event-id'])).toEqual(['e0', 'e1', 'e2', 'e3', 'e4']);
  });

  it(
    'is come back to after the time that the backend gave, and not before',
    verifies('client-transport:http:reconnect-retry-value'),
    async () => {
      const clock = new LeapClock();
      let first: Turn | undefined;
      const pair = await pairOf(
        'legacy',
        {
          'tools/call': (turn) => {
            first = turn;
            turn.stream().event('', { id: 'e0', retry: 30_000 }).end();
          },
          'prompts/list': (turn) => turn.result({ prompts: [] }),
          GET: (turn) => {
            turn.stream();
            if (turn.received.headers['last-event-id'] === undefined) return;
            turn.event(result(first?.message.id, text('done'))).end();
          },
        },
        { ports: { clock } },
      );
      const stream = await pair.begin(1);
      // The gateway closes its own stream in turn, and says when to come back.
      await stream.ended;
      expect(stream.events.find(({ retry }) => retry !== undefined)?.retry).toBe(30_000);
      clock.leap(29_000);
      await pair.ask(2, 'prompts/list', {});
      expect(resumptions(pair)).toEqual([]);
      clock.leap(1_000);
      await until(() => resumptions(pair).length === 1, 'the backend was come back to');
    },
  );
});

describe('a stream without event ids', () => {
  it.each([
    { name: 'ends', end: (turn: Turn) => turn.end() },
    { name: 'is cut', end: (turn: Turn) => setImmediate(() => turn.cut()) },
  ])(
    'that $name without an answer fails its call, and is not resumed',
    verifies('client-transport:http:reconnect-post-priming', 'gateway:backend:cut-stream-fails'),
    async ({ end }) => {
      const pair = await pairOf('legacy', {
        'tools/call': (turn) => end(turn.stream().event(said('one'))),
      });
      const answer = await pair.ask(1);
      expect(messagesOf(answer)).toEqual([said('one'), refusal({ ...unavailable, id: 1 })]);
      expect(resumptions(pair)).toEqual([]);
      expect(pair.backend.of('tools/call')).toHaveLength(1);
    },
  );
});

describe('a stream that brought its answer', verifies('client-transport:http:no-reconnect-after-response'), () => {
  it('is not opened again when it ends', async () => {
    const clock = new LeapClock();
    const pair = await pairOf(
      'legacy',
      {
        'tools/call': (turn) =>
          turn
            .stream()
            .event('', { id: 'e0', retry: 1 })
            .event(result(turn.message.id, text('done')), { id: 'e1' })
            .end(),
        'prompts/list': (turn) => turn.result({ prompts: [] }),
      },
      { ports: { clock } },
    );
    expect(answered(await pair.ask(1))).toEqual(result(1, text('done')));
    clock.leap(60_000);
    await pair.ask(2, 'prompts/list', {});
    expect(resumptions(pair)).toEqual([]);
  });
});

describe('a stream of a modern backend', verifies('gateway:backend:cut-stream-fails'), () => {
  it('is never resumed, whatever ids it has: the call fails', async () => {
    const pair = await pairOf('modern', {
      'tools/call': (turn) => {
        turn.stream().event(said('one'), { id: 'e1', retry: 1 });
        setImmediate(() => turn.cut());
      },
    });
    expect(answered(await pair.ask(1))).toEqual(refusal({ ...unavailable, id: 1 }));
    expect(pair.backend.received.filter(({ http }) => http !== 'POST')).toEqual([]);
    expect(pair.backend.of('tools/call')).toHaveLength(1);
  });
});
