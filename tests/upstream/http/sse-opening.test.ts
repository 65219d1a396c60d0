/** 2024-11-05, basic/transports, "HTTP with SSE": from the GET to the address for messages. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { HttpPools } from '../../../src/upstream/http/pool.ts';
import { ManualClock } from '../support/clock.ts';
import { type Answer, bare, json, poolLimits, ScriptedBackend, sseCut, sseEnd } from '../support/scripted-http.ts';
import {
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

/** Writes what it is given as the body of a stream, and leaves it open. */
const raw =
  (...chunks: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const chunk of chunks) response.write(chunk);
  };

describe('opening a session', () => {
  it('is a GET with the configured headers, and messages go with them to the address that it names', async () => {
    const headers = { Authorization: 'Bearer t', Accept: '*/*' };
    const { backend, open } = await scripted({}, { headers });
    const channel = await open();
    await channel.post(notification, { 'mcp-protocol-version': '2025-06-18' });
    expect(backend.heard[0]).toMatchObject({
      method: 'GET',
      url: '/mcp?key=1',
      headers: { accept: 'text/event-stream', authorization: 'Bearer t' },
      body: '',
    });
    expect(backend.heard[1]).toMatchObject({
      method: 'POST',
      url: '/messages?session=1',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        authorization: 'Bearer t',
        'mcp-protocol-version': '2025-06-18',
      },
      body: notification.toString(),
    });
  });

  const addresses: readonly { address: string; expect: string }[] = [
    { address: '/messages?session=1', expect: '/messages?session=1' },
    { address: 'messages/1', expect: '/messages/1' },
    { address: '?session=1', expect: '/mcp?session=1' },
    { address: '/a b/ü#part', expect: '/a%20b/%C3%BC' },
    { address: ' /messages ', expect: '/messages' },
  ];
  it.each(addresses)('the address $address is $expect', async ({ address, expect: wanted }) => {
    const { backend, open } = await scripted({ stream: names(address) });
    await (await open()).post(notification, {});
    expect(backend.posted[0]?.url).toBe(wanted);
  });

  it('an address of the same origin may be absolute', async () => {
    const stream: Answer = (response, heard, socket) =>
      names(`http://${heard.headers.host}/elsewhere`)(response, heard, socket);
    const { backend, open } = await scripted({ stream });
    await (await open()).post(notification, {});
    expect(backend.posted[0]?.url).toBe('/elsewhere');
  });

  const streams: readonly { name: string; chunks: readonly string[] }[] = [
    { name: 'byte by byte', chunks: [...endpoint()] },
    { name: 'with CRLF', chunks: [endpoint().replaceAll('\n', '\r\n')] },
    {
      name: 'after comments and events that are no messages',
      chunks: [': hi\n\n', 'event: ping\ndata: 1\n\n', endpoint()],
    },
  ];
  it.each(streams)('the address may come $name', async ({ chunks }) => {
    const { backend, open } = await scripted({ stream: raw(...chunks) });
    await (await open()).post(notification, {});
    expect(backend.posted[0]?.url).toBe('/messages?session=1');
  });

  const refused: readonly { name: string; stream: Answer; reason: string }[] = [
    { name: 'another host', stream: names('http://127.0.0.2/messages'), reason: 'backend_invalid' },
    { name: 'another host, without a scheme', stream: names('//evil.example/messages'), reason: 'backend_invalid' },
    { name: 'another port', stream: names('http://127.0.0.1:1/messages'), reason: 'backend_invalid' },
    { name: 'another scheme', stream: names('data:text/plain,x'), reason: 'backend_invalid' },
    { name: 'no address', stream: names('http://['), reason: 'backend_invalid' },
    { name: 'an empty one', stream: names(''), reason: 'backend_invalid' },
    { name: 'one without end', stream: names(`/${'x'.repeat(9_000)}`), reason: 'backend_invalid' },
    { name: 'a message first', stream: raw(message(ping), endpoint()), reason: 'backend_invalid' },
    { name: 'an end without an address', stream: sseEnd(': hi\n\n'), reason: 'backend_invalid' },
    {
      name: 'a cut before the address is whole',
      stream: sseCut('event: endpoint\ndata: /mess'),
      reason: 'backend_unavailable',
    },
    { name: 'an event over the limit', stream: raw(`data: ${'x'.repeat(70_000)}`), reason: 'backend_too_large' },
    { name: '404', stream: bare(404), reason: 'backend_invalid' },
    { name: '405', stream: bare(405), reason: 'backend_invalid' },
    { name: '400', stream: bare(400), reason: 'backend_invalid' },
    { name: 'a redirect', stream: bare(307), reason: 'backend_invalid' },
    { name: '204', stream: bare(204), reason: 'backend_invalid' },
    { name: '200 that is no stream', stream: json(200, '{}'), reason: 'backend_invalid' },
    { name: '401', stream: bare(401), reason: 'backend_unavailable' },
    { name: '503', stream: bare(503), reason: 'backend_unavailable' },
  ];
  it.each(refused)('fails with $reason: $name', async ({ stream, reason }) => {
    const clock = new ManualClock();
    const { backend, open, sink, pools } = await scripted({ stream }, { clock });
    await expect(open()).rejects.toMatchObject({ reason });
    await idle(pools.streams);
    expect(backend.posted).toEqual([]);
    expect(sink.losses).toEqual([]);
    expect(clock.pending).toEqual([]);
  });

  it.each([
    { name: 'no headers', stream: silent },
    { name: 'no address', stream: raw(': hi\n\n') },
  ])('times out: $name', async ({ stream }) => {
    const clock = new ManualClock();
    const { backend, open, sink } = await scripted({ stream }, { clock });
    const opening = open();
    opening.catch(() => undefined);
    await backend.until(() => backend.heard.length === 1);
    clock.advance(sseLimits.endpointMs);
    await expect(opening).rejects.toMatchObject({ reason: 'backend_timeout' });
    await backend.closed(0);
    expect(sink.losses).toEqual([]);
  });

  it('fails if the connection is refused', async () => {
    const gone = new ScriptedBackend([silent]);
    const { origin } = await gone.start();
    await gone.stop();
    const pools = new HttpPools({ url: new URL(origin) }, poolLimits);
    onTestFinished(() => pools.close());
    const { open } = await scripted({}, { pools });
    await expect(open()).rejects.toMatchObject({ reason: 'backend_unavailable' });
  });

  it('has a connection of its own each time, and they are bounded', async () => {
    const { open, pools } = await scripted({}, {}, { streams: 2, connections: 1 });
    await Promise.all([open(), open()]);
    expect(pools.streams.inFlight).toBe(2);
    await expect(open()).rejects.toMatchObject({ reason: 'backend_busy' });
  });
});
