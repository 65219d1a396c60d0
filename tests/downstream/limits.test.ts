/** Size, time, and what is no HTTP at all. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ask, both, errorIn, eventually, head, ping, posting, RawClient, start } from './harness.ts';

describe('the type of a body', () => {
  it.each([
    { name: 'JSON', type: 'application/json', status: 200 },
    { name: 'JSON in capitals', type: 'Application/JSON', status: 200 },
    { name: 'JSON in UTF-8', type: 'application/json; charset=utf-8', status: 200 },
    { name: 'JSON in quoted UTF-8', type: 'application/json;charset="UTF-8"', status: 200 },
    { name: 'JSON with another parameter', type: 'application/json; profile=x', status: 200 },
    { name: 'JSON in another charset', type: 'application/json; charset=latin1', status: 415 },
    { name: 'a relative of JSON', type: 'application/json-patch+json', status: 415 },
    { name: 'text', type: 'text/plain', status: 415 },
    { name: 'a form', type: 'application/x-www-form-urlencoded', status: 415 },
  ])('answers $name with $status', async ({ type, status }) => {
    const running = await start();
    const answer = await ask(running, { body: ping, headers: { 'Content-Type': type } });
    expect(answer.status).toBe(status);
    if (status === 415) {
      expect(errorIn(answer)).toEqual({ code: -32600, reason: 'unsupported_media_type', id: undefined });
      expect(running.gateway.arrivals).toEqual([]);
    }
  });

  it('refuses a body without a type, and one that is compressed', async () => {
    const running = await start();
    const bare = new RawClient(running.port);
    bare.send(`${head('POST', '/mcp', { 'Content-Length': ping.length })}${ping}`);
    await bare.until('HTTP/1.1 415');
    const answer = await ask(running, { body: ping, headers: { 'Content-Encoding': 'gzip' } });
    expect(answer.status).toBe(415);
  });
});

describe('the size of a body', () => {
  const limits = { bodyBytes: 1024 };

  it('serves a body of exactly the limit, in one or several chunks', async () => {
    const running = await start({ limits });
    const body = ping.padEnd(1024, ' ');
    expect((await ask(running, { body })).status).toBe(200);
    const client = new RawClient(running.port);
    client.send(head('POST', '/mcp', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }));
    for (const piece of body.match(/.{1,100}/gs) ?? []) client.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
    client.send('0\r\n\r\n');
    await client.until('"result"');
  });

  it('refuses a body that is declared too large without waiting for it', async () => {
    const running = await start({ limits });
    const client = new RawClient(running.port);
    client.send(head('POST', '/mcp', { 'Content-Type': 'application/json', 'Content-Length': 1025 }));
    const text = await client.until('body_too_large');
    expect(text).toContain('HTTP/1.1 413 ');
    expect(text).toContain('"message":"The body is over 1024 bytes"');
    expect(text).not.toContain('"id"');
  });

  it('keeps the connection when the rest of the body arrives', async () => {
    const running = await start({ limits });
    const client = new RawClient(running.port);
    client.send(posting('x'.repeat(2000)));
    await client.until('body_too_large');
    client.send(posting(ping));
    await client.until('"result"');
    expect(running.gateway.arrivals).toHaveLength(1);
  });

  it('refuses a chunked body when it grows too large, and keeps the connection', async () => {
    const running = await start({ limits });
    const client = new RawClient(running.port);
    client.send(head('POST', '/mcp', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }));
    client.send(`401\r\n${'x'.repeat(1025)}\r\n`);
    await client.until('HTTP/1.1 413');
    client.send('3\r\nxxx\r\n0\r\n\r\n');
    client.send(posting(ping));
    await client.until('"result"');
  });

  it('closes the connection of a client that keeps sending a rejected body', async () => {
    const running = await start({ limits });
    const client = new RawClient(running.port);
    client.send(head('POST', '/mcp', { 'Content-Type': 'application/json', 'Content-Length': 1_000_000 }));
    await client.until('HTTP/1.1 413');
    client.send('x'.repeat(100_000));
    await client.closed;
  });

  it('discards the body of a request that is rejected for another reason', async () => {
    const running = await start({ limits });
    const client = new RawClient(running.port);
    client.send(posting(ping, { Accept: 'image/png' }));
    await client.until('HTTP/1.1 406');
    client.send(posting(ping));
    await client.until('"result"');
  });

  it('grants 100-continue only to a body that it will read', async () => {
    const running = await start({ limits });
    const json = { 'Content-Type': 'application/json', Expect: '100-continue' };
    const good = new RawClient(running.port);
    good.send(head('POST', '/mcp', { ...json, 'Content-Length': ping.length }));
    await good.until('HTTP/1.1 100 Continue');
    good.send(ping);
    await good.until('"result"');
    const bad = new RawClient(running.port);
    bad.send(head('POST', '/mcp', { ...json, 'Content-Length': 5000 }));
    expect(await bad.until('body_too_large')).not.toContain('100 Continue');
    await bad.closed;
  });

  it('ignores an expectation that it does not know', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(posting(ping, { Expect: 'miracles' }));
    await client.until('"result"');
  });
});

describe('time', () => {
  it('answers a body that does not come with 408, and closes', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(head('POST', '/mcp', { 'Content-Type': 'application/json', 'Content-Length': 40 }));
    client.send('{"jsonrpc"');
    await eventually(() => running.clock.pending > 0);
    running.clock.advance(29_999);
    expect(client.received).toBe('');
    running.clock.advance(4000);
    const text = await client.until('request_timeout');
    expect(text).toContain('HTTP/1.1 408 Request Timeout\r\n');
    expect(text).toContain('Connection: close\r\n');
    await client.closed;
    expect(running.gateway.arrivals).toEqual([]);
  });

  it('cuts a refused body that does not come to its end', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(head('POST', '/none', { 'Content-Length': 40 }));
    await client.until('HTTP/1.1 404');
    running.clock.advance(40_000);
    await client.closed;
  });

  it('leaves no timer behind once bodies were read', async () => {
    const running = await start();
    await ask(running, { body: ping });
    running.clock.advance(40_000);
    expect(running.clock.pending).toBe(0);
  });

  it('discards a body whose sender has disconnected', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(head('POST', '/mcp', { 'Content-Type': 'application/json', 'Content-Length': 40 }));
    client.send('{"jsonrpc"');
    await eventually(() => running.clock.pending > 0);
    client.socket.destroy();
    await eventually(() => {
      running.clock.advance(4000);
      return running.clock.pending === 0;
    });
    expect(running.gateway.arrivals).toEqual([]);
  });

  it.each([
    { name: 'half a header', bytes: 'POST /mcp HTTP/1.1\r\nHost: local' },
    { name: 'nothing', bytes: '' },
  ])('answers $name with 408 after the time for headers', async ({ bytes }) => {
    const running = await start({ limits: { headersMs: 100 } });
    const client = new RawClient(running.port);
    await once(client.socket, 'connect');
    client.send(bytes);
    const text = await client.until('request_timeout');
    expect(text).toContain('HTTP/1.1 408 Request Timeout\r\n');
    expect(text).toContain('Content-Type: application/json\r\n');
    await client.closed;
  });
});

describe('bytes that are not HTTP', () => {
  it('answers headers over the limit with 431 and a JSON-RPC body', async () => {
    const running = await start({ limits: { headerBytes: 2048 } });
    const client = new RawClient(running.port);
    client.send(posting(ping, { 'X-Large': 'x'.repeat(60_000) }));
    const text = await client.until('headers_too_large');
    expect(text).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    client.socket.end();
    await client.closed;
  });

  it.each([
    { name: 'garbage', bytes: 'hello\r\n\r\n' },
    { name: 'TLS', bytes: Buffer.from('1603010200010001fc0303', 'hex') },
    { name: 'a space in a header name', bytes: 'GET /mcp HTTP/1.1\r\nHo st: localhost\r\n\r\n' },
    { name: 'a control character in a header', bytes: 'GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: \x01\r\n\r\n' },
    {
      name: 'two lengths',
      bytes: `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx`,
    },
    {
      name: 'a length and chunks',
      bytes: `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    },
  ])('answers $name with 400', async ({ bytes }) => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(bytes);
    const text = await client.until('Malformed HTTP request');
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    client.socket.end();
    await client.closed;
    expect(running.gateway.arrivals).toEqual([]);
  });

  it('answers a body with broken chunks with 400, once', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(head('POST', '/mcp', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }));
    client.send('zz\r\n');
    const text = await client.until('Malformed HTTP request');
    expect(text.match(/HTTP\/1\.1/g)).toEqual(['HTTP/1.1']);
    await client.closed;
    expect(running.gateway.arrivals).toEqual([]);
  });

  it('writes nothing into the middle of a running response', async () => {
    const running = await start();
    running.gateway.onReceive = ({ reply }) => {
      reply.open({ era: 'legacy', requests: 1, batch: false, longLived: true });
    };
    const client = new RawClient(running.port);
    client.send(posting(ping, { Accept: both }));
    await client.until('\r\n\r\n');
    client.send('garbage\r\n\r\n');
    await client.closed;
    expect(client.received).not.toContain('Malformed');
  });
});

describe('old and unusual HTTP', () => {
  it('answers HTTP/1.0 and closes', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(posting(ping).replace('HTTP/1.1', 'HTTP/1.0'));
    expect(await client.until('"result"')).toContain('Connection: close\r\n');
    await client.closed;
  });

  it('answers pipelined requests in their order', async () => {
    const running = await start();
    const replies: (() => void)[] = [];
    running.gateway.onReceive = ({ message, reply }) => {
      const id = message.kind === 'request' ? message.id.raw : '';
      replies.push(() => reply.respond(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`)));
    };
    const client = new RawClient(running.port);
    client.send(posting(ping.replace('7', '1')) + posting(ping.replace('7', '2')));
    await eventually(() => replies.length === 2);
    replies[1]?.();
    replies[0]?.();
    const text = await client.until('"id":2');
    expect(text.indexOf('"id":1')).toBeLessThan(text.indexOf('"id":2'));
  });

  it('cancels a pipelined modern request when its client disconnects', async () => {
    const running = await start();
    let abandoned = 0;
    running.gateway.onReceive = ({ reply }) => {
      const [outlet] = reply.open({ era: 'modern', requests: 1, batch: false, longLived: false });
      outlet?.onAbandoned(() => {
        abandoned += 1;
      });
    };
    const client = new RawClient(running.port);
    client.send(posting(ping, { Accept: both }) + posting(ping, { Accept: both }));
    await eventually(() => running.gateway.arrivals.length === 2);
    client.socket.destroy();
    await eventually(() => abandoned === 2);
  });
});
