/** 2025-11-25, basic/transports, "Resumability and Redelivery". */
import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { RequestRecorder } from '../support/recorders.ts';
import {
  type Answer,
  against,
  bare,
  channelLimits,
  event,
  progress,
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

/** Without jitter: half of a second, of two, of four. */
const backoffs = [500, 1_000, 2_000];

describe('a stream with event ids', () => {
  it('that the backend closes is resumed after its retry time', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(
      ends,
      [sseEnd('id: a\ndata:\n\n', 'retry: 750\n\n'), sseEnd(event(progress, 'b'), event(result(1), 'c'))],
      { clock },
    );
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    await clock.waiting(750);
    expect(sink.pauses).toEqual([750]);
    clock.advance(749);
    expect(backend.heard).toHaveLength(1);
    clock.advance(1);
    expect(await sink.settled()).toBe('answered');
    expect(sink.messages).toEqual(['notifications/progress']);
    expect(backend.heard[1]).toMatchObject({
      method: 'GET',
      url: '/mcp?key=1',
      headers: {
        accept: 'text/event-stream',
        'last-event-id': 'a',
        'mcp-session-id': 'S',
        'mcp-protocol-version': '2025-11-25',
      },
    });
  });

  it('that is cut in the middle of an event is resumed after the last complete one', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(
      ends,
      [sseCut(event(progress, 'a'), 'id: b\ndata: {"jsonrpc":"2.0","id":1,'), sseEnd(event(result(1), 'b'))],
      { clock },
    );
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    await clock.waiting(500);
    expect(sink.pauses).toEqual([]);
    clock.advance(500);
    expect(await sink.settled()).toBe('answered');
    expect(backend.heard[1]?.headers['last-event-id']).toBe('a');
  });

  it('is given up after a bounded number of streams without progress', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(
      ends,
      [sseEnd('id: a\ndata:\n\n'), sseEnd('id: b\ndata:\n\n'), sseEnd(), sseEnd('id: c\ndata:\n\n')],
      { clock },
    );
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    for (const wait of backoffs) {
      await clock.waiting(wait);
      clock.advance(wait);
    }
    expect(await sink.settled()).toBe('failed backend_unavailable');
    expect(backend.heard).toHaveLength(1 + channelLimits.reconnects);
    expect(clock.pending).toEqual([]);
  });

  it('is followed for as long as it makes progress', async () => {
    const clock = new ManualClock();
    const rounds = 3 * channelLimits.reconnects;
    const answers: Answer[] = [];
    for (let i = 0; i < rounds; i++) answers.push(sseEnd('retry: 100\n', event(progress, `e${i}`)));
    const { channel, backend } = await against(ends, [...answers, sseEnd(event(result(1), 'z'))], { clock });
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    for (let i = 0; i < rounds; i++) {
      await clock.waiting(100);
      clock.advance(100);
    }
    expect(await sink.settled()).toBe('answered');
    expect(sink.messages).toHaveLength(rounds);
    expect(backend.heard.at(-1)?.headers['last-event-id']).toBe(`e${rounds - 1}`);
  });

  it('that replays known events delivers them once', async () => {
    const clock = new ManualClock();
    const note = (method: string): string => `{"jsonrpc":"2.0","method":"${method}"}`;
    const { channel } = await against(
      ends,
      [
        sseCut(event(note('one'), '1'), event(note('two'), '2')),
        sseEnd(event(note('one'), '1'), event(note('two'), '2'), event(note('three'), '3'), event(result(1), '4')),
      ],
      { clock },
    );
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    await clock.waiting(500);
    clock.advance(500);
    await sink.settled();
    expect(sink.messages).toEqual(['one', 'two', 'three']);
  });

  it('an id outside of ASCII goes back as the same bytes', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(ends, [sseEnd('id: ü1\ndata:\n\n'), sseEnd(event(result(1)))], {
      clock,
    });
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    await clock.waiting(500);
    clock.advance(500);
    await sink.settled();
    const sent = backend.heard[1]?.headers['last-event-id'] as string;
    expect(Buffer.from(sent, 'latin1').toString('utf8')).toBe('ü1');
  });

  const refusals: readonly { name: string; answers: readonly Answer[]; ending: string; gets: number }[] = [
    { name: '404: the session is gone', answers: [bare(404)], ending: 'failed backend_session_lost', gets: 1 },
    {
      name: '405: it cannot be resumed after all',
      answers: [bare(405)],
      ending: 'failed backend_unavailable',
      gets: 1,
    },
    { name: '503 passes', answers: [bare(503), sseEnd(event(result(1)))], ending: 'answered', gets: 2 },
    {
      name: 'a cut connection passes',
      answers: [(_response, _heard, socket) => socket.resetAndDestroy(), sseEnd(event(result(1)))],
      ending: 'answered',
      gets: 2,
    },
  ];
  it.each(refusals)('resuming is answered with $name', async ({ answers, ending, gets }) => {
    const clock = new ManualClock();
    const { channel, backend } = await against(ends, [sseEnd(event(progress, 'a')), ...answers], { clock });
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    for (const wait of backoffs.slice(0, gets)) {
      await clock.waiting(wait);
      clock.advance(wait);
    }
    expect(await sink.settled()).toBe(ending);
    expect(backend.heard).toHaveLength(1 + gets);
  });

  it('is not waited for when the backend sets a retry time of an hour', async () => {
    const { channel } = await against(ends, [sseEnd('id: a\nretry: 3600000\ndata:\n\n')]);
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    expect(await sink.settled()).toBe('failed backend_unavailable');
  });

  it('is never resumed if the revision has no resumption', async () => {
    const { channel, backend } = await against(ends, [sseEnd(event(progress, 'a'))], { resumable: false });
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    expect(await sink.settled()).toBe('failed backend_unavailable');
    expect(backend.heard).toHaveLength(1);
  });

  it('is left alone after an abort between two streams', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(ends, [sseEnd(event(progress, 'a'))], { clock });
    const sink = new RequestRecorder();
    const pending = channel.request(request(1), sink);
    await clock.waiting(500);
    pending.abort();
    expect(clock.pending).toEqual([]);
    expect(backend.heard).toHaveLength(1);
    expect(sink.endings).toEqual([]);
  });
});

describe('a stream that stays open after the answer', () => {
  it('loses its connection after a while', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(ends, [sse(event(result(1)))], { clock });
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    expect(await sink.settled()).toBe('answered');
    expect(backend.sockets.size).toBe(1);
    clock.advance(1_000);
    await backend.closed(0);
    expect(sink.endings).toEqual(['answered']);
  });
});
