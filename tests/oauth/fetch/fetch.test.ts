import { once } from 'node:events';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { allowInsecureRequests, customFetch, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { outward, serve } from './server.ts';

describe('an outward request', verifies('gateway:outward:bounds'), () => {
  it('gives a real response, with status and headers of the server', async () => {
    const server = await serve((_, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] }).end('{"a":1}');
    });
    const response = await outward({ allowLoopback: true }).fetch(new URL(server.url));
    expect(response).toBeInstanceOf(Response);
    expect(response.status).toBe(201);
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(await response.json()).toEqual({ a: 1 });
  });

  it('sends method, headers and body, and no header that is the connection’s', async () => {
    const server = await serve(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      response.end(
        JSON.stringify({ method: request.method, headers: request.headers, body: Buffer.concat(chunks).toString() }),
      );
    });
    const response = await outward({ allowLoopback: true }).fetch(server.url, {
      method: 'POST',
      headers: new Headers({ authorization: 'Basic x', host: 'other.example', 'user-agent': '' }),
      body: new URLSearchParams({ grant_type: 'refresh_token' }),
    });
    const seen = (await response.json()) as { headers: Record<string, string> };
    expect(seen).toMatchObject({ method: 'POST', body: 'grant_type=refresh_token' });
    expect(seen.headers).toMatchObject({ host: `127.0.0.1:${server.port}`, authorization: 'Basic x' });
    expect(seen.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
  });

  it('serves an OAuth library as its fetch', async () => {
    const server = await serve((request, response) => {
      const issuer = `http://127.0.0.1:${server.port}`;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ issuer, seen: request.url }));
    });
    const issuer = new URL(server.url);
    const { fetch } = outward({ allowLoopback: true });
    const response = await discoveryRequest(issuer, {
      algorithm: 'oauth2',
      [customFetch]: fetch,
      [allowInsecureRequests]: true,
    });
    const metadata = await processDiscoveryResponse(issuer, response);
    expect(metadata.seen).toBe('/.well-known/oauth-authorization-server');
  });

  for (const status of [300, 301, 302, 303, 307, 308]) {
    it(`does not follow ${status}`, async () => {
      const target = await serve((_, response) => response.end());
      const server = await serve((_, response) => response.writeHead(status, { location: target.url }).end());
      await expect(outward({ allowLoopback: true }).fetch(server.url)).rejects.toMatchObject({ kind: 'redirected' });
      expect(target.connections()).toBe(0);
    });
  }

  const plain = JSON.stringify({ text: 'x'.repeat(1000) });
  const codings = [
    { coding: 'gzip', bytes: gzipSync(plain) },
    { coding: 'deflate', bytes: deflateSync(plain) },
    { coding: 'br', bytes: brotliCompressSync(plain) },
    { coding: 'identity', bytes: Buffer.from(plain) },
  ];
  for (const { coding, bytes } of codings) {
    it(`decodes ${coding}, with headers that describe the decoded body`, async () => {
      const server = await serve((_, response) => {
        response.writeHead(200, { 'content-encoding': coding, 'content-length': bytes.length }).end(bytes);
      });
      const response = await outward({ allowLoopback: true }).fetch(server.url);
      expect(response.headers.get('content-encoding')).toBeNull();
      expect(response.headers.get('content-length')).toBeNull();
      expect(await response.text()).toBe(plain);
    });
  }

  const large = Buffer.alloc(50_000, 'x');
  const refused = [
    { name: 'a body beyond the bound', kind: 'too_large', headers: {}, bytes: large },
    {
      name: 'a small body that unpacks beyond it',
      kind: 'too_large',
      headers: { 'content-encoding': 'gzip' },
      bytes: gzipSync(large),
    },
    {
      name: 'the same in br',
      kind: 'too_large',
      headers: { 'content-encoding': 'br' },
      bytes: brotliCompressSync(large),
    },
    {
      name: 'a coding that is not known',
      kind: 'undecodable',
      headers: { 'content-encoding': 'lzw' },
      bytes: large.subarray(0, 9),
    },
    {
      name: 'codings upon codings',
      kind: 'undecodable',
      headers: { 'content-encoding': 'gzip, gzip' },
      bytes: gzipSync(gzipSync('x')),
    },
    {
      name: 'a body that does not match its encoding',
      kind: 'undecodable',
      headers: { 'content-encoding': 'gzip' },
      bytes: large.subarray(0, 9),
    },
    {
      name: 'headers beyond their bound',
      kind: 'too_large',
      headers: { 'x-large': 'x'.repeat(20_000) },
      bytes: large.subarray(0, 9),
    },
  ];
  for (const { name, kind, headers, bytes } of refused) {
    it(`refuses ${name}`, async () => {
      const server = await serve((_, response) => response.writeHead(200, headers).end(bytes));
      const { fetch } = outward({ allowLoopback: true, limits: { bodyBytes: 10_000 } });
      await expect(fetch(server.url)).rejects.toMatchObject({ name: 'OutwardError', kind });
    });
  }

  it('rejects an endless body at its limit, and disconnects', async () => {
    let closed: Promise<unknown> | undefined;
    const server = await serve((_, response) => {
      closed = once(response, 'close');
      const more = () => {
        while (!response.destroyed && response.write(large));
        response.once('drain', more);
      };
      more();
    });
    await expect(outward({ allowLoopback: true }).fetch(server.url)).rejects.toMatchObject({ kind: 'too_large' });
    await closed;
  });

  it('refuses to send more than its bound', async () => {
    const server = await serve((_, response) => response.end());
    const sent = outward({ allowLoopback: true, limits: { sentBytes: 10 } }).fetch(server.url, {
      method: 'POST',
      body: 'x'.repeat(11),
    });
    await expect(sent).rejects.toMatchObject({ kind: 'too_large' });
    expect(server.connections()).toBe(0);
  });

  it('times out if the server sends nothing, or never ends', async () => {
    const silent = await serve(() => undefined);
    const endless = await serve((_, response) => response.writeHead(200).write('x'));
    const { fetch } = outward({ allowLoopback: true, limits: { totalMs: 300 } });
    for (const { url } of [silent, endless]) await expect(fetch(url)).rejects.toMatchObject({ kind: 'too_slow' });
  });

  it('times out if the name is not resolved in time', async () => {
    const { fetch } = outward({ limits: { totalMs: 200 }, resolve: () => new Promise(() => undefined) });
    await expect(fetch('https://slow.example/')).rejects.toMatchObject({ kind: 'too_slow' });
  });

  it('ends with the reason of the caller that gives up', async () => {
    const caller = new AbortController();
    const server = await serve(() => caller.abort(new Error('changed my mind')));
    const asked = outward({ allowLoopback: true }).fetch(server.url, { signal: caller.signal });
    await expect(asked).rejects.toThrow('changed my mind');
  });

  it('fails if the server is not reachable', async () => {
    const { fetch } = outward({ allowLoopback: true, resolve: async () => [] });
    await expect(fetch('http://127.0.0.1:2/')).rejects.toMatchObject({ kind: 'address_unreachable' });
    await expect(fetch('https://none.example/')).rejects.toMatchObject({ kind: 'address_unreachable' });
  });

  it('is rejected when too many are running, and accepted when one has ended', async () => {
    const answers: (() => void)[] = [];
    const server = await serve((_, response) => answers.push(() => response.end('x')));
    const { fetch } = outward({ allowLoopback: true, limits: { requests: 3, requestsPerHost: 2 } });
    const first = [fetch(server.url), fetch(server.url)];
    await expect(fetch(server.url)).rejects.toMatchObject({ kind: 'busy' });
    const other = fetch(server.url.replace('127.0.0.1', 'localhost'));
    await expect(fetch(server.url.replace('127.0.0.1', 'a.localhost'))).rejects.toMatchObject({ kind: 'busy' });
    await expect.poll(() => answers.length).toBe(3);
    for (const answer of answers.splice(0)) answer();
    await Promise.all([...first, other]);
    const next = fetch(server.url);
    await expect.poll(() => answers.length).toBe(1);
    answers[0]?.();
    expect((await next).status).toBe(200);
  });
});
