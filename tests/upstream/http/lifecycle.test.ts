import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { RequestRecorder, StandaloneRecorder } from '../support/recorders.ts';
import {
  type Answer,
  against,
  bare,
  event,
  json,
  openChannel,
  progress,
  request,
  result,
  sse,
  sseEnd,
} from '../support/scripted-http.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const silent: Answer = () => undefined;
const session = { 'mcp-session-id': 'S' };
const notification = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

describe('a request that was cancelled', () => {
  it('closes its connection when it is aborted before the answer', async () => {
    const { channel, backend, pools } = await against(ends, [silent]);
    const sink = new RequestRecorder();
    const pending = channel.request(request(1), sink);
    await backend.until(() => backend.heard.length === 1);
    pending.abort();
    await backend.closed(0);
    expect(sink.endings).toEqual([]);
    expect(pools.calls.inFlight).toBe(0);
  });

  it('closes its stream when it is aborted in the middle, even from within a callback', async () => {
    const { channel, backend } = await against(ends, [sse(event(progress), event(progress), event(result(1)))]);
    const sink = new RequestRecorder();
    const pending = channel.request(request(1), {
      message: (message) => {
        pending.abort();
        return sink.message(message);
      },
      answered: (message, http) => sink.answered(message, http),
      failed: (failure, http) => sink.failed(failure, http),
      alive: () => sink.alive(),
      paused: (retryMs) => sink.paused(retryMs),
    });
    await sink.until(() => sink.messages.length > 0);
    await backend.closed(0);
    expect(sink.messages).toHaveLength(1);
    expect(sink.endings).toEqual([]);
  });

  it('never reaches the backend when it is aborted while it waits for a connection', async () => {
    const { channel, backend } = await against(ends, [silent, json(200, result(3))], {}, { connections: 1 });
    const first = channel.request(request(1), new RequestRecorder());
    const second = channel.request(request(2), new RequestRecorder());
    const third = new RequestRecorder();
    channel.request(request(3), third);
    await backend.until(() => backend.heard.length === 1);
    second.abort();
    first.abort();
    expect(await third.settled()).toBe('answered');
    expect(backend.heard.map(({ body }) => JSON.parse(body).id)).toEqual([1, 3]);
  });

  it('returns all connections, so that aborted requests never block the pool', async () => {
    const answers: Answer[] = [];
    for (let i = 0; i < 40; i++) answers.push(i % 2 === 0 ? silent : sse(event(progress)));
    const { channel, backend, pools } = await against(
      ends,
      [...answers, json(200, result(99))],
      {},
      { connections: 2 },
    );
    for (let i = 0; i < 40; i++) {
      const pending = channel.request(request(i + 1), new RequestRecorder());
      await backend.until(() => backend.heard.length === i + 1);
      pending.abort();
    }
    const sink = new RequestRecorder();
    channel.request(request(99), sink);
    expect(await sink.settled()).toBe('answered');
    expect(pools.calls.inFlight).toBe(0);
  });
});

describe('closing a channel', () => {
  it('fails requests in flight once, and closes its own connections only', async () => {
    const { channel, backend, pools, url } = await against(ends, [silent, sse(event(progress)), json(200, result(3))]);
    const sinks = [new RequestRecorder(), new RequestRecorder()];
    channel.request(request(1), sinks[0] as RequestRecorder);
    channel.request(request(2), sinks[1] as RequestRecorder);
    await backend.until(() => backend.heard.length === 2);
    await channel.close();
    for (const sink of sinks) expect(sink.endings).toEqual(['failed backend_unavailable']);
    await Promise.all([backend.closed(0), backend.closed(1)]);
    const other = openChannel(url, { pools });
    const sink = new RequestRecorder();
    other.channel.request(request(3), sink);
    expect(await sink.settled()).toBe('answered');
  });

  it('rejects later requests', async () => {
    const { channel, backend } = await against(ends, [json(200, result(1))]);
    await channel.close();
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    expect(await sink.settled()).toBe('failed backend_unavailable');
    await expect(channel.post(notification, {})).rejects.toMatchObject({ reason: 'backend_unavailable' });
    expect(backend.heard).toEqual([]);
  });
});

describe('connections', () => {
  it('are kept for the next request', async () => {
    const { channel, backend, pools } = await against(
      ends,
      [json(200, result(1)), sseEnd(event(result(1))), bare(500), json(200, result(1))],
      {},
      { connections: 1 },
    );
    const seen = new Set<Socket>();
    for (let i = 0; i < 4; i++) {
      const sink = new RequestRecorder();
      channel.request(request(1), sink);
      await sink.settled();
      for (const socket of backend.sockets) seen.add(socket);
      while (pools.calls.inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(seen.size).toBe(1);
  });

  it('are bounded, and so is the queue for them', async () => {
    const { channel, backend } = await against(ends, [silent], {}, { connections: 2, queue: 1 });
    for (let i = 1; i <= 3; i++) channel.request(request(i), new RequestRecorder());
    const sink = new RequestRecorder();
    channel.request(request(4), sink);
    expect(sink.endings).toEqual([]);
    expect(await sink.settled()).toBe('failed backend_busy');
    await backend.until(() => backend.heard.length === 2);
    expect(backend.sockets.size).toBe(2);
  });

  it('of open streams are separate from those of calls', async () => {
    const { channel, backend } = await against(ends, [sse(), sse(), json(200, result(3))], {}, { connections: 1 });
    const listening = new RequestRecorder();
    channel.request({ ...request(1), longLived: true }, listening);
    void channel.listen(session, new StandaloneRecorder());
    await backend.until(() => backend.heard.length === 2);
    const sink = new RequestRecorder();
    channel.request(request(3), sink);
    expect(await sink.settled()).toBe('answered');
    expect(listening.endings).toEqual([]);
  });

  it('of pending calls do not block the answer that they wait for', async () => {
    const { channel, backend } = await against(
      ends,
      [sse(event(progress)), bare(202)],
      {},
      { connections: 1, queue: 0 },
    );
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    await sink.until(() => sink.messages.length === 1);
    await channel.post(Buffer.from(result(5)), session);
    expect(backend.heard.map(({ body }) => JSON.parse(body).id)).toEqual([1, 5]);
  });

  it('that are not accepted fail the request', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const { channel, pools } = openChannel(new URL(`http://127.0.0.1:${port}/mcp`));
    ends.push(() => pools.close());
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    expect(await sink.settled()).toBe('failed backend_unavailable');
    expect(sink.http).toBeUndefined();
  });

  it('that are accepted and never get through a TLS handshake fail within the time limit', async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
    const { channel, pools } = openChannel(url, {}, { connectMs: 50 });
    ends.push(async () => {
      await pools.close();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    });
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    expect(await sink.settled()).toBe('failed backend_unavailable');
  });
});

describe('handing over a notification or an answer', () => {
  const rows: readonly { name: string; answer: Answer; reason: string | undefined }[] = [
    { name: '202', answer: bare(202), reason: undefined },
    { name: '200 with a body', answer: json(200, '{}'), reason: undefined },
    { name: '200 with a stream that never ends', answer: sse(), reason: undefined },
    { name: '404', answer: bare(404), reason: 'backend_session_lost' },
    {
      name: '400 with a message',
      answer: json(400, '{"jsonrpc":"2.0","error":{"code":-1,"message":""}}'),
      reason: 'backend_invalid',
    },
    { name: '401', answer: bare(401), reason: 'backend_unavailable' },
    { name: '500', answer: bare(500), reason: 'backend_unavailable' },
    { name: '307', answer: bare(307), reason: 'backend_invalid' },
    { name: 'a cut connection', answer: (_r, _h, socket) => socket.resetAndDestroy(), reason: 'backend_unavailable' },
  ];
  it.each(rows)('is answered with $name', async ({ answer, reason }) => {
    const { channel, backend } = await against(ends, [answer]);
    const posted = channel.post(notification, session);
    if (reason === undefined) await posted;
    else await expect(posted).rejects.toMatchObject({ reason });
    expect(backend.heard[0]).toMatchObject({ method: 'POST', body: notification.toString(), headers: session });
  });

  it('does not wait for ever', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(ends, [silent], { clock });
    const posted = channel.post(notification, session);
    await backend.until(() => backend.heard.length === 1);
    clock.advance(5_000);
    await expect(posted).rejects.toMatchObject({ reason: 'backend_timeout' });
    await backend.closed(0);
  });
});

describe('forgetting a session', () => {
  it.each([200, 204, 404, 405, 500])('is a DELETE; any answer (%i) is accepted', async (status) => {
    const { channel, backend } = await against(ends, [bare(status)]);
    await channel.forget(session);
    expect(backend.heard[0]).toMatchObject({ method: 'DELETE', headers: session, body: '' });
    expect(backend.heard[0]?.headers['content-type']).toBeUndefined();
  });

  it('does not wait for ever', async () => {
    const clock = new ManualClock();
    const { channel, backend } = await against(ends, [silent], { clock });
    const forgotten = channel.forget(session);
    await backend.until(() => backend.heard.length === 1);
    clock.advance(5_000);
    await forgotten;
  });
});
