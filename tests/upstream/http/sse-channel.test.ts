/** 2024-11-05, basic/transports, "HTTP with SSE": a session, from its opening to its end. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/upstream/channel.ts';
import { ManualClock } from '../support/clock.ts';
import { type Answer, bare, json, progress, result } from '../support/scripted-http.ts';
import {
  ask,
  endpoint,
  idle,
  message,
  names,
  notification,
  ping,
  scripted,
  silent,
  sseLimits,
} from '../support/scripted-sse.ts';

describe('a request', () => {
  it('is accepted by its POST and answered on the stream', async () => {
    const { backend, open, pools } = await scripted({});
    const channel = await open();
    const { recorder } = ask(channel, 1);
    await backend.until(() => backend.posted.length === 1);
    await idle(pools.calls);
    expect(recorder.endings).toEqual([]);
    backend.say(message(result(1)));
    expect(await recorder.settled()).toBe('answered');
    expect(recorder.http).toBeUndefined();
    expect(channel.streamPerRequest).toBe(false);
  });

  it('is not answered by the body of the POST', async () => {
    const { backend, open } = await scripted({ posts: [json(200, result(1))] });
    const { recorder } = ask(await open(), 1);
    await backend.until(() => backend.posted.length === 1);
    backend.say(message('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'));
    expect(await recorder.settled()).toBe('answered');
    expect(recorder.response?.kind).toBe('error');
  });

  it('may be answered before its POST is, whose connection is kept then', async () => {
    const held: (() => void)[] = [];
    const { backend, open, pools } = await scripted(
      { posts: [(response) => held.push(() => response.writeHead(202).end()), bare(202)] },
      {},
      { connections: 1 },
    );
    const channel = await open();
    const { recorder } = ask(channel, 1);
    await backend.until(() => held.length === 1);
    backend.say(message(result(1)));
    expect(await recorder.settled()).toBe('answered');
    held[0]?.();
    await idle(pools.calls);
    expect(recorder.endings).toEqual(['answered']);
    const { size } = backend.sockets;
    ask(channel, 2);
    await backend.until(() => backend.posted.length === 2);
    expect(backend.sockets.size).toBe(size);
  });

  it('leaves no POST behind that is never answered', async () => {
    const clock = new ManualClock();
    const { backend, open, pools } = await scripted({ posts: [silent] }, { clock });
    const { recorder } = ask(await open(), 1);
    await backend.until(() => backend.posted.length === 1);
    // A server may take a request when it is done with it: until then nothing is decided here.
    clock.advance(10 * sseLimits.oneWayMs);
    backend.say(message(result(1)));
    expect(await recorder.settled()).toBe('answered');
    expect(clock.pending).toEqual([sseLimits.oneWayMs]);
    clock.advance(sseLimits.oneWayMs);
    await backend.closed(1);
    await idle(pools.calls);
    expect(recorder.endings).toEqual(['answered']);
  });

  it('is found by its id, in any order; other answers are dropped and counted', async () => {
    const { backend, open, notes } = await scripted({});
    const channel = await open();
    const first = ask(channel, 1).recorder;
    const second = ask(channel, 2).recorder;
    const other = '{"jsonrpc":"2.0","id":"1","result":{}}';
    const nobody = '{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}';
    backend.say(...[other, result(2), result(2), nobody, result(9), `[${result(1)},${result(2)}]`].map(message));
    expect(await first.settled()).toBe('answered');
    expect(second.endings).toEqual(['answered']);
    expect(notes.of('unknown_id')).toEqual([other, result(2), nobody, result(9), result(2)]);
  });

  it.each([
    { name: 'a result that is no object', answer: '{"jsonrpc":"2.0","id":1,"result":5}' },
    { name: 'result and error', answer: '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}' },
  ])('that is answered with $name fails at once, and no other does', async ({ answer }) => {
    const { backend, open } = await scripted({});
    const channel = await open();
    const first = ask(channel, 1).recorder;
    const second = ask(channel, 2).recorder;
    backend.say(message(answer), message(result(2)));
    expect(await first.settled()).toBe('failed backend_invalid');
    expect(await second.settled()).toBe('answered');
  });

  it('under an id that is in flight is refused', async () => {
    const channel = await (await scripted({})).open();
    ask(channel, 1);
    expect(() => ask(channel, 1)).toThrow(expect.objectContaining({ reason: 'internal_error' }));
  });

  const cut: Answer = (_response, _heard, socket) => void socket.resetAndDestroy();
  const refusals: readonly { name: string; post: Answer; reason: string; status?: number }[] = [
    { name: '404', post: bare(404), reason: 'backend_session_lost', status: 404 },
    { name: '404 in JSON-RPC', post: json(404, result(1)), reason: 'backend_session_lost', status: 404 },
    { name: '400', post: bare(400), reason: 'backend_invalid', status: 400 },
    { name: '413', post: bare(413), reason: 'backend_invalid', status: 413 },
    { name: 'a redirect', post: bare(307), reason: 'backend_invalid', status: 307 },
    { name: '401', post: bare(401), reason: 'backend_unavailable', status: 401 },
    { name: '500', post: bare(500), reason: 'backend_unavailable', status: 500 },
    { name: 'a cut', post: cut, reason: 'backend_unavailable' },
  ];
  it.each(refusals)('whose POST is answered with $name fails alone, with $reason', async ({ post, reason, status }) => {
    const { backend, open, sink, notes } = await scripted({ posts: [post, bare(202)] });
    const channel = await open();
    const refused = ask(channel, 1).recorder;
    expect(await refused.settled()).toBe(`failed ${reason}`);
    expect(refused.http?.status).toBe(status);
    const next = ask(channel, 2).recorder;
    await backend.until(() => backend.posted.length === 2);
    backend.say(message(result(1)), message(result(2)));
    expect(await next.settled()).toBe('answered');
    expect(refused.endings).toHaveLength(1);
    expect(notes.of('unknown_id')).toEqual([result(1)]);
    expect(sink.losses).toEqual([]);
  });

  it('that is answered is not failed by its POST afterwards', async () => {
    const held: (() => void)[] = [];
    const { backend, open, pools } = await scripted({
      posts: [(response) => held.push(() => response.writeHead(500).end())],
    });
    const { recorder } = ask(await open(), 1);
    await backend.until(() => held.length === 1);
    backend.say(message(result(1)));
    await recorder.settled();
    held[0]?.();
    await idle(pools.calls);
    expect(recorder.endings).toEqual(['answered']);
  });

  it('that was cancelled returns its connection, and its response is dropped', async () => {
    const { backend, open, notes } = await scripted({ posts: [silent] });
    const { recorder, pending } = ask(await open(), 1);
    await backend.until(() => backend.posted.length === 1);
    pending.abort();
    await backend.closed(1);
    backend.say(message(result(1)));
    await notes.until(() => notes.of('unknown_id').length === 1);
    expect(recorder.endings).toEqual([]);
  });

  it('gets a connection, or fails: calls that are not accepted do not pile up', async () => {
    const { backend, open } = await scripted({ posts: [silent] }, {}, { connections: 1, queue: 1 });
    const channel = await open();
    for (const id of [1, 2]) ask(channel, id);
    expect(await ask(channel, 3).recorder.settled()).toBe('failed backend_busy');
    await backend.until(() => backend.posted.length === 1);
  });
});

describe('a message without a request', () => {
  it('is reported as a stray, and noise breaks nothing', async () => {
    const { backend, open, sink, notes } = await scripted({});
    await open();
    backend.say(
      ': hi\n\n',
      message(progress),
      message('nonsense'),
      endpoint('/other'),
      'event: x\ndata: 1\n\n',
      message(ping),
    );
    await sink.until(() => sink.strays.length === 2);
    expect(sink.strays).toEqual(['notifications/progress', 'ping']);
    expect(notes.of('unreadable')).toEqual(['nonsense', 'another endpoint event on the same stream']);
  });

  it('may come with the address', async () => {
    const { open, sink } = await scripted({ stream: names(undefined, message(ping)) });
    await open();
    await sink.until(() => sink.strays.length === 1);
  });

  it('keeps the first address', async () => {
    const { backend, open, notes } = await scripted({});
    const channel = await open();
    backend.say(endpoint('http://evil.example/'));
    await notes.until(() => notes.notes.length === 1);
    await channel.post(notification, {});
    expect(backend.posted[0]?.url).toBe('/messages?session=1');
  });

  const posts: readonly { status: number; reason: string }[] = [
    { status: 404, reason: 'backend_session_lost' },
    { status: 400, reason: 'backend_invalid' },
    { status: 500, reason: 'backend_unavailable' },
  ];
  it.each(posts)('and is sent by us: $status is $reason', async ({ status, reason }) => {
    const { open } = await scripted({ posts: [bare(status)] });
    await expect((await open()).post(notification, {})).rejects.toMatchObject({ reason });
  });

  it('and is sent by us, but not accepted in time', async () => {
    const clock = new ManualClock();
    const { backend, open } = await scripted({ posts: [silent] }, { clock });
    const posted = (await open()).post(notification, {});
    posted.catch(() => undefined);
    await backend.until(() => backend.posted.length === 1);
    clock.advance(sseLimits.oneWayMs);
    await expect(posted).rejects.toMatchObject({ reason: 'backend_timeout' });
    await backend.closed(1);
  });

  it('and is sent by us does not wait for calls that are not accepted', async () => {
    const { backend, open } = await scripted({ posts: [silent, bare(202)] }, {}, { connections: 1, queue: 0 });
    const channel = await open();
    ask(channel, 1);
    await backend.until(() => backend.posted.length === 1);
    await channel.post(notification, {});
    expect(backend.posted).toHaveLength(2);
  });
});

describe('the end of the stream', () => {
  const endings: readonly {
    name: string;
    end: (response: ServerResponse) => void;
    reason: string;
  }[] = [
    { name: 'is said', end: (response) => response.end(), reason: 'backend_unavailable' },
    {
      name: 'comes in the middle of an event',
      end: (response) => response.end('event: message\ndata: {"jsonrpc":"2.0","id":1,'),
      reason: 'backend_unavailable',
    },
    {
      name: 'is a cut in the middle of an event',
      end: (response) => response.write('event: message\ndata: {"js', () => response.socket?.resetAndDestroy()),
      reason: 'backend_unavailable',
    },
    {
      name: 'is an event over the limit',
      end: (response) => response.write(`data: ${'x'.repeat(sseLimits.resultBytes)}`),
      reason: 'backend_too_large',
    },
  ];
  it.each(endings)(
    'that $name ends the session: open requests fail, then it is reported as lost',
    async ({ end, reason }) => {
      const { backend, open, sink } = await scripted({ posts: [bare(202), silent] });
      const channel = await open();
      const first = ask(channel, 1).recorder;
      await backend.until(() => backend.posted.length === 1);
      const second = ask(channel, 2).recorder;
      const posted = channel.post(notification, {});
      posted.catch(() => undefined);
      await backend.until(() => backend.posted.length === 3);
      end(backend.opened());
      await sink.until(() => {
        if (sink.losses.length > 0) expect([...first.endings, ...second.endings]).toHaveLength(2);
        return sink.losses.length > 0;
      });
      expect(sink.losses.map((failure) => failure.reason)).toEqual([reason]);
      expect([...first.endings, ...second.endings]).toEqual([`failed ${reason}`, `failed ${reason}`]);
      await expect(posted).rejects.toMatchObject({ reason });
      expect(await ask(channel, 3).recorder.settled()).toBe(`failed ${reason}`);
      await expect(channel.post(notification, {})).rejects.toMatchObject({ reason });
      await channel.close();
      expect(sink.losses).toHaveLength(1);
    },
  );

  it('delivers the messages before it', async () => {
    const { backend, open, sink } = await scripted({});
    const { recorder } = ask(await open(), 1);
    await backend.until(() => backend.posted.length === 1);
    backend.opened().end(message(result(1)));
    await sink.until(() => sink.losses.length === 1);
    expect(recorder.endings).toEqual(['answered']);
  });
});

describe('closing the channel', () => {
  it('ends the stream and open requests, and is not reported as a loss', async () => {
    const { backend, open, sink } = await scripted({ posts: [bare(202), silent] });
    const channel = await open();
    const first = ask(channel, 1).recorder;
    await backend.until(() => backend.posted.length === 1);
    const second = ask(channel, 2).recorder;
    await backend.until(() => backend.posted.length === 2);
    const { forget, listen }: Channel = channel;
    expect([forget, listen]).toEqual([undefined, undefined]);
    await channel.close();
    await Promise.all([backend.closed(0), backend.closed(2)]);
    expect([...first.endings, ...second.endings]).toEqual(['failed backend_unavailable', 'failed backend_unavailable']);
    expect(await ask(channel, 3).recorder.settled()).toBe('failed backend_unavailable');
    await expect(channel.post(notification, {})).rejects.toMatchObject({ reason: 'backend_unavailable' });
    expect(sink.losses).toEqual([]);
    expect(backend.heard.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST']);
  });

  it('leaves the streams of others open', async () => {
    const { backend, open, sink } = await scripted({});
    const first = await open();
    await open();
    await first.close();
    await backend.closed(0);
    backend.say(message(ping));
    await sink.until(() => sink.strays.length === 1);
  });

  it('from within a callback stops the rest of the chunk', async () => {
    const heard: string[] = [];
    let close: () => Promise<void> = async () => undefined;
    const sink = {
      stray: ({ method }: { readonly method: string }) => {
        heard.push(method);
        void close();
        return 'session' as const;
      },
      lost: () => void heard.push('lost'),
    };
    const { backend, open } = await scripted({}, { sink });
    const channel = await open();
    close = () => channel.close();
    backend.say(message(`[${ping},${ping}]`), message(ping));
    await backend.closed(0);
    expect(heard).toEqual(['ping']);
  });
});
