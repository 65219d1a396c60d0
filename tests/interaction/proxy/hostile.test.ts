/** What the proxy must not be used for: other hosts, other addresses, and targets that can be read in two ways. */
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { within } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { openProxy, secured, sendRaw, trustBackends, tunnelTo, ways } from './setup.ts';

trustBackends();

const read = modern({ method: 'tools/call', params: { name: 'work' } });

describe('hosts that are not listed', verifies('gateway:proxy:listed-only'), () => {
  it('a CONNECT to any of them is refused, and recorded; nothing is connected to', async () => {
    const house = await openProxy();
    const { port } = new URL(house.plain.url);
    house.forget();
    const before = house.plain.connections;
    const others = [
      'example.com:443',
      `localhost:${port}`,
      '127.0.0.1:1',
      `127.0.0.2:${port}`,
      '169.254.169.254:80',
      '[fe80::1]:80',
      '[::1]:80',
      '100.100.100.200:80',
      'metadata.google.internal:80',
    ];
    for (const authority of others) {
      house.forget();
      const answer = await tunnelTo(house.gateway.proxy, authority);
      if ('socket' in answer) throw new Error(`${authority} was connected to`);
      expect([authority, answer.status, answer.json().error.data.reason]).toEqual([
        ...[authority, 403, 'proxy_host_not_listed'],
      ]);
      expect(house.records).toMatchObject([
        { decision: 'deny', endpoint: 'proxy', name: authority, reason: 'proxy_host_not_listed' },
      ]);
    }
    expect(house.plain.connections).toBe(before);
  });

  it('an absolute address there is refused', async () => {
    const house = await openProxy();
    const { port } = new URL(house.plain.url);
    for (const host of ['example.com', `localhost:${port}`, '169.254.169.254', '127.0.0.1:1']) {
      const answer = await sendRaw(house.gateway.proxy, `GET http://${host}/mcp HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 403 .*proxy_host_not_listed/s);
    }
  });

  it.each(ways)('another address at a listed host is refused, by $name', async ({ send, to }) => {
    const house = await openProxy();
    await send(house, read);
    house.forget();
    for (const path of ['/', '/mcp/', '/mcp?key=1', '/other', '/.well-known/oauth-protected-resource']) {
      const answer = await send(house, { ...read, path });
      expect([path, answer.status, answer.json().error.data.reason]).toEqual([path, 403, 'proxy_path_not_listed']);
    }
    expect(house[to].bytes).toBe(0);
  });

  it('a backend that a reload removes is refused at once, in open tunnels too', async () => {
    const house = await openProxy();
    const { host } = new URL(house.plain.url);
    const opened = await tunnelTo(house.gateway.proxy, host);
    if (!('socket' in opened)) throw new Error('no tunnel');
    house.gateway.reload({ backends: { tls: { url: house.tls.url } }, proxy: { listen: { port: 0 } } });
    await expect.poll(() => house.gateway.config !== house.gateway.assembled.config).toBe(true);
    house.forget();
    opened.socket.write(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const answer = await new Promise<string>((resolve) => opened.socket.once('data', (data) => resolve(String(data))));
    expect(answer).toMatch(/^HTTP\/1\.1 403 .*proxy_host_not_listed/s);
    expect(house.plain.bytes).toBe(0);
  });
});

describe('targets with two readings', verifies('gateway:proxy:one-reading'), () => {
  const get = (target: string, host: string, more = '') => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
  const shapes: readonly { readonly name: string; readonly bytes: (host: string) => string }[] = [
    { name: 'another Host', bytes: (host) => get(`http://${host}/mcp`, 'example.com') },
    { name: 'another port in Host', bytes: (host) => get(`http://${host}/mcp`, host.replace(/:\d+/, ':1')) },
    { name: 'two Hosts', bytes: (host) => get(`http://${host}/mcp`, host, `Host: ${host}\r\n`) },
    { name: 'no Host', bytes: (host) => `GET http://${host}/mcp HTTP/1.1\r\n\r\n` },
    { name: 'no Host in HTTP/1.0', bytes: (host) => `GET http://${host}/mcp HTTP/1.0\r\n\r\n` },
    { name: 'a user name', bytes: (host) => get(`http://me@${host}/mcp`, host) },
    { name: 'a user name that is another host', bytes: (host) => get(`http://${host}@example.com/mcp`, host) },
    { name: 'https', bytes: (host) => get(`https://${host}/mcp`, host) },
    { name: 'another scheme', bytes: (host) => get(`ftp://${host}/mcp`, host) },
    { name: 'a path alone', bytes: (host) => get('/mcp', host) },
    { name: 'an asterisk', bytes: (host) => `OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n` },
    { name: 'dot segments', bytes: (host) => get(`http://${host}/a/../mcp`, host) },
    { name: 'encoded dot segments', bytes: (host) => get(`http://${host}/a/%2e%2e/mcp`, host) },
    { name: 'a backslash', bytes: (host) => get(`http://${host}/a\\..\\mcp`, host) },
    { name: 'a fragment', bytes: (host) => get(`http://${host}/mcp#x`, host) },
    { name: 'an address in hexadecimal', bytes: (host) => get(`http://${hexadecimal(host)}/mcp`, hexadecimal(host)) },
    { name: 'a port with a zero', bytes: (host) => get(`http://${host.replace(':', ':0')}/mcp`, host) },
    { name: 'an encoded host', bytes: (host) => get(`http://%31${host.slice(1)}/mcp`, host) },
    { name: 'CONNECT to a path', bytes: (host) => `CONNECT /mcp HTTP/1.1\r\nHost: ${host}\r\n\r\n` },
    { name: 'CONNECT without a port', bytes: () => 'CONNECT 127.0.0.1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' },
    { name: 'CONNECT with another Host', bytes: (host) => `CONNECT ${host} HTTP/1.1\r\nHost: example.com\r\n\r\n` },
    {
      name: 'CONNECT with a length',
      bytes: (host) => `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\n\r\nhello`,
    },
    {
      name: 'CONNECT with chunks',
      bytes: (host) => `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    },
  ];

  it.each(shapes)('$name: 400, no byte upstream', async ({ bytes }) => {
    const house = await openProxy();
    const { host } = new URL(house.plain.url);
    expect(await sendRaw(house.gateway.proxy, bytes(host))).toMatch(/^HTTP\/1\.1 400 .*proxy_target_invalid/s);
    expect(house.bytes).toBe(0);
  });

  const smuggled: readonly { readonly name: string; readonly head: string }[] = [
    { name: 'both lengths', head: 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n' },
    { name: 'two lengths', head: 'Content-Length: 5\r\nContent-Length: 6\r\n' },
    { name: 'an unknown encoding', head: 'Transfer-Encoding: xchunked\r\n' },
    { name: 'a folded header', head: 'X-A: b\r\n c\r\n' },
    { name: 'a space before the colon', head: 'Content-Length : 5\r\n' },
  ];

  it.each(smuggled)('$name: 400, in absolute form and in a tunnel', async ({ head }) => {
    const house = await openProxy();
    const { host } = new URL(house.plain.url);
    const body = '0\r\n\r\nPOST /x HTTP/1.1\r\n\r\n';
    const rest = `Host: ${host}\r\nContent-Type: application/json\r\n${head}\r\n${body}`;
    const tunnel = `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    expect(await sendRaw(house.gateway.proxy, `POST http://${host}/mcp HTTP/1.1\r\n${rest}`)).toMatch(
      /^HTTP\/1\.1 400 /,
    );
    expect(await sendRaw(house.gateway.proxy, `${tunnel}POST /mcp HTTP/1.1\r\n${rest}`)).toMatch(
      /^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 400 /,
    );
    expect(house.bytes).toBe(0);
  });

  it('bytes behind a CONNECT belong to the tunnel', async () => {
    const house = await openProxy();
    const { host } = new URL(house.plain.url);
    const body = JSON.stringify(read.body);
    const lines = Object.entries({ ...read.headers, accept: 'application/json, text/event-stream' });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const inner = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Type: application/json\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    const answer = await sendRaw(house.gateway.proxy, `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n${inner}`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200 OK\r\n.*"text":"work"/s);
  });

  it('a tunnel in a tunnel is refused', async () => {
    const house = await openProxy();
    const { host } = new URL(house.plain.url);
    const connectOnce = `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const answer = await sendRaw(house.gateway.proxy, `${connectOnce}${connectOnce}`);
    expect(answer).toMatch(/200 Connection established\r\n\r\nHTTP\/1\.1 403 .*proxy_tunnel_nested/s);
  });

  it('a CONNECT behind a request that is not answered yet ends the connection', async () => {
    // Its answer would be written into the tunnel.
    const house = await openProxy({ script: { 'tools/call': () => undefined } });
    const { host } = new URL(house.plain.url);
    const body = JSON.stringify(read.body);
    const lines = Object.entries({ ...read.headers, accept: 'application/json, text/event-stream' });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const post = `POST http://${host}/mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    const tunnel = `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    expect(await sendRaw(house.gateway.proxy, `${post}${tunnel}${get('/mcp', host)}`)).toBe('');
  });

  it('inside a tunnel, another Host and an absolute address are refused', async () => {
    const house = await openProxy();
    const { host } = new URL(house.plain.url);
    const tunnel = `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    for (const inner of [get('/mcp', 'example.com'), get(`http://${host}/mcp`, host), get('//example.com/mcp', host)])
      expect(await sendRaw(house.gateway.proxy, `${tunnel}${inner}`)).toMatch(
        /established\r\n\r\nHTTP\/1\.1 40[03] .*proxy_(?:target_invalid|path_not_listed)/s,
      );
  });

  it.each([
    { name: 'another', servername: 'example.com' },
    { name: 'a subdomain', servername: 'a.localhost' },
    { name: 'none', servername: '' },
  ])('a handshake with $name as its server name fails', async ({ servername }) => {
    const house = await openProxy();
    const opened = await tunnelTo(house.gateway.proxy, new URL(house.tls.url).host);
    if (!('socket' in opened)) throw new Error('no tunnel');
    const secure = connectTls({
      socket: opened.socket,
      ca: house.ca,
      servername,
      checkServerIdentity: () => undefined,
    });
    onTestFinished(() => void secure.destroy());
    secure.on('error', () => undefined);
    secure.write('GET /mcp HTTP/1.1\r\n\r\n');
    const heard: Buffer[] = [];
    secure.on('data', (chunk: Buffer) => heard.push(chunk));
    await within(new Promise((resolve) => secure.on('close', resolve)), () => 'the connection stays open');
    expect(Buffer.concat(heard).toString()).toBe('');
  });

  it('a client that speaks HTTP/2 alone gets no handshake', async () => {
    const house = await openProxy();
    const { hostname, host } = new URL(house.tls.url);
    const opened = await tunnelTo(house.gateway.proxy, host);
    if (!('socket' in opened)) throw new Error('no tunnel');
    const secure = connectTls({ socket: opened.socket, ca: house.ca, servername: hostname, ALPNProtocols: ['h2'] });
    onTestFinished(() => void secure.destroy());
    const failed = new Promise((resolve) => secure.on('error', resolve).on('close', resolve));
    await within(failed, () => 'the handshake is done');
    expect(secure.alpnProtocol || null).toBeNull();
  });

  it('a CONNECT at the gateway’s own address is refused as ever', async () => {
    const house = await openProxy();
    const answer = await sendRaw(house.gateway.origin, 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
  });

  it('a client that resets its connection in the handshake harms no other', async () => {
    const house = await openProxy();
    const { hostname, port } = new URL(house.gateway.proxy);
    const { host } = new URL(house.tls.url);
    const sockets = Array.from({ length: 20 }, () => connect(Number(port), hostname));
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n\x16\x03\x01`);
    }
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('data', resolve))));
    for (const socket of sockets) socket.resetAndDestroy();
    const opened = await tunnelTo(house.gateway.proxy, host);
    if (!('socket' in opened)) throw new Error('no tunnel');
    expect((await secured(opened.socket, { servername: 'localhost', ca: house.ca })).authorized).toBe(true);
  });
});

function hexadecimal(host: string): string {
  return host.replace('127.0.0.1', '0x7f000001');
}
