/** 2025-11-25, basic/transports, "Listening for Messages from the Server". */
import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { RequestRecorder, StandaloneRecorder } from '../support/recorders.ts';
import {
  type Answer,
  against,
  bare,
  channelLimits,
  event,
  json,
  request,
  result,
  sse,
  sseCut,
  sseEnd,
} from '../support/scripted-http.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const session = { 'mcp-session-id': 'S', 'mcp-protocol-version': '2025-11-25' };
const note = (method: string): string => `{"jsonrpc":"2.0","method":"${method}"}`;
const sessionGone = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}';

describe('the standalone stream', () => {
  it('delivers messages without a request; responses on it are dropped', async () => {
    const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
    const { channel, backend, sink, notes } = await against(ends, [
      sse(event(note('a')), event(result(1)), event('nonsense'), event(ping)),
    ]);
    void channel.listen(session, new StandaloneRecorder());
    await sink.until(() => sink.strays.length === 2);
    expect(sink.strays).toEqual(['a', 'ping']);
    expect(notes.notes.map(({ kind }) => kind)).toEqual(['unknown_id', 'unreadable']);
    expect(backend.heard[0]).toMatchObject({ method: 'GET', headers: { accept: 'text/event-stream', ...session } });
    expect(backend.heard[0]?.headers['last-event-id']).toBeUndefined();
  });

  it('is opened once, however often it is requested', async () => {
    const { channel, backend, sink } = await against(ends, [sse(event(note('a')))]);
    void channel.listen(session, new StandaloneRecorder());
    void channel.listen(session, new StandaloneRecorder());
    await sink.until(() => sink.strays.length === 1);
    expect(backend.heard).toHaveLength(1);
  });

  it('is opened again where it ended, and nothing is delivered twice', async () => {
    const clock = new ManualClock();
    const { channel, backend, sink } = await against(
      ends,
      [
        sseEnd('retry: 200\n', event(note('a'), '1'), event(note('b'), '2')),
        sseCut(event(note('a'), '1'), event(note('b'), '2'), event(note('c'), '3'), 'data: {"js'),
        sse(event(note('d'), '4')),
      ],
      { clock },
    );
    void channel.listen(session, new StandaloneRecorder());
    for (const lastEventId of ['2', '3']) {
      await clock.waiting(200);
      clock.advance(200);
      await backend.until(() => backend.heard.at(-1)?.headers['last-event-id'] === lastEventId);
    }
    await sink.until(() => sink.strays.length === 4);
    expect(sink.strays).toEqual(['a', 'b', 'c', 'd']);
  });

  const none: readonly { name: string; answer: Answer }[] = [
    { name: '405', answer: bare(405) },
    { name: '400', answer: bare(400) },
    {
      name: 'the 404 of a framework without such a route',
      answer: (response) => response.writeHead(404, { 'content-type': 'text/html' }).end('Cannot GET /mcp'),
    },
    { name: '200 that is no stream', answer: json(200, '{}') },
    { name: 'a redirect', answer: bare(302) },
  ];
  it.each(none)('is not offered: $name', async ({ answer }) => {
    const clock = new ManualClock();
    const { channel, backend, sink, pools } = await against(ends, [answer, json(200, result(1))], { clock });
    void channel.listen(session, new StandaloneRecorder());
    await backend.until(() => backend.heard.length === 1);
    const call = new RequestRecorder();
    channel.request(request(1), call);
    expect(await call.settled()).toBe('answered');
    expect(sink.losses).toEqual([]);
    expect(pools.streams.inFlight).toBe(0);
    expect(clock.pending).toEqual([]);
  });

  it('answered with 404 in JSON-RPC means that the session is lost; requests in flight fail first', async () => {
    const silent: Answer = () => undefined;
    const { channel, backend, sink } = await against(ends, [silent, json(404, sessionGone)]);
    const call = new RequestRecorder();
    channel.request(request(1), call);
    await backend.until(() => backend.heard.length === 1);
    void channel.listen(session, new StandaloneRecorder());
    await sink.until(() => sink.losses.length === 1);
    expect(sink.losses[0]?.reason).toBe('backend_session_lost');
    expect(call.endings).toEqual(['failed backend_session_lost']);
  });

  it('answered with a bare 404 after it was served means that the session is lost', async () => {
    const clock = new ManualClock();
    const { channel, sink } = await against(ends, [sseEnd(event(note('a'), '1')), bare(404)], { clock });
    void channel.listen(session, new StandaloneRecorder());
    await clock.waiting(500);
    clock.advance(500);
    await sink.until(() => sink.losses.length === 1);
    expect(sink.losses[0]?.reason).toBe('backend_session_lost');
  });

  it('that fails repeatedly is lost, and retried with bounded backoff until it is back', async () => {
    const clock = new ManualClock();
    const tries = 12;
    const { channel, backend, sink, notes } = await against(
      ends,
      [bare(503), ...Array.from({ length: tries }, () => sseEnd()), sse(event(note('a')))],
      { clock },
    );
    const listener = new StandaloneRecorder();
    void channel.listen(session, listener);
    const waits: number[] = [];
    for (let nth = 1; nth <= tries + 1; nth++) {
      await backend.until(() => backend.heard.length === nth);
      while (clock.pending.length === 0) await new Promise((resolve) => setImmediate(resolve));
      const wait = Math.max(...clock.pending);
      waits.push(wait);
      clock.advance(wait);
    }
    await sink.until(() => sink.strays.length === 1);
    expect(waits.slice(0, 6)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000]);
    expect(Math.max(...waits)).toBe(15_000);
    expect(listener.told).toContain('lost backend_unavailable');
    // A stream that ends at once each time is no reason to tell anybody anything, until it says something.
    expect(listener.told.filter((told) => told === 'missed')).toHaveLength(2);
    expect(listener.told.slice(-2)).toEqual(['opened', 'missed']);
    // Once lost, once back.
    expect(notes.of('stream_lost')).toEqual(['the backend ended the stream', 'back']);
    expect(sink.losses).toEqual([]);
  });

  it('that was lost is opened again as soon as a call is answered', async () => {
    const clock = new ManualClock();
    const { channel, backend, sink } = await against(
      ends,
      [
        ...Array.from({ length: 4 }, () => bare(503)),
        json(200, result(1)),
        json(200, result(2)),
        sse(event(note('a'))),
      ],
      { clock },
    );
    void channel.listen(session, new StandaloneRecorder());
    for (const wait of [500, 1_000, 2_000]) {
      await clock.waiting(wait);
      clock.advance(wait);
    }
    await clock.waiting(4_000);
    const call = async (id: number) => {
      const recorder = new RequestRecorder();
      channel.request(request(id), recorder);
      expect(await recorder.settled()).toBe('answered');
    };
    // Not at once: a backend that refuses its stream alone is not asked for it with every call.
    clock.advance(999);
    await call(1);
    expect(backend.heard).toHaveLength(5);
    clock.advance(1);
    await call(2);
    await sink.until(() => sink.strays.length === 1);
  });

  it('that a proxy ends every minute is opened again every time', async () => {
    const clock = new ManualClock();
    const endings: (() => void)[] = [];
    const open: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      // Shows that the stream stands, and is no progress.
      response.write(event('hello'));
      endings.push(() => response.end(': bye\n\n'));
    };
    const { channel, notes } = await against(ends, [open], { clock });
    const times = 2 * channelLimits.reconnects;
    void channel.listen(session, new StandaloneRecorder());
    for (let i = 1; i <= times; i++) {
      await notes.until(() => notes.of('unreadable').length === i);
      clock.advance(60_000);
      endings.at(-1)?.();
      await clock.waiting(500);
      clock.advance(500);
    }
    await notes.until(() => notes.of('unreadable').length === times + 1);
    expect(notes.of('unreadable')).toEqual(Array(times + 1).fill('hello'));
  });

  it('ends with its channel, also between two streams', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(ends, [sse(event(note('a')))]);
    void channel.listen(session, new StandaloneRecorder());
    await backend.until(() => backend.heard.length === 1);
    await channel.close();
    await backend.closed(0);

    const between = await against(ends, [sseEnd()], { clock });
    void between.channel.listen(session, new StandaloneRecorder());
    await clock.waiting(500);
    await between.channel.close();
    expect(clock.pending).toEqual([]);
  });
});
