/** Hosts whose connections pass unread, and the bounds of all connections through the proxy. */

import type { AddressInfo } from 'node:net';
import { connect as connectNet, createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeConfig } from '../../../src/config/describe.ts';
import { verifies } from '../../requirements/verifies.ts';
import { until, within } from '../harness/client.ts';
import { startGateway } from '../harness/gateway.ts';
import { openProxy, trustBackends, tunnelTo } from './setup.ts';

trustBackends();

/** A host that echoes, and never ends a connection by itself. */
async function echo(): Promise<{ readonly host: string; readonly sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => socket.write(chunk));
    socket.on('end', () => socket.end('bye'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}

describe('a host with `tunnel: true`', verifies('gateway:proxy:listed-only', 'gateway:proxy:bounds'), () => {
  async function openTunnelTo(host: string) {
    const gateway = await startGateway({
      backends: { b: { url: `https://${host}/mcp` } },
      proxy: { listen: { port: 0 }, hosts: { [host]: { tunnel: true } } },
    });
    return gateway;
  }

  it('is connected to, and what passes is not read; config check says so', async () => {
    const { host } = await echo();
    const gateway = await openTunnelTo(host);
    expect(describeConfig(gateway.config)).toContain(`${host}: tunnel; what passes there is NOT seen`);
    const opened = await tunnelTo(gateway.proxy, host);
    if (!('socket' in opened)) throw new Error(opened.body);
    const heard: Buffer[] = [];
    opened.socket.on('data', (chunk: Buffer) => heard.push(chunk));
    opened.socket.write('anything');
    opened.socket.end();
    await within(new Promise((resolve) => opened.socket.on('close', resolve)), () => 'the tunnel stays open');
    expect(Buffer.concat(heard).toString()).toBe('anythingbye');
  });

  it('that is not there is 502', async () => {
    const gateway = await openTunnelTo('127.0.0.1:1');
    const answer = await tunnelTo(gateway.proxy, '127.0.0.1:1');
    if ('socket' in answer) throw new Error('a tunnel to nowhere');
    expect([answer.status, answer.json().error.data.reason]).toEqual([502, 'proxy_tunnel_unreachable']);
  });

  it.each(['the client', 'the host', 'the gateway'])('both sides end when %s goes', async (who) => {
    const { host, sockets } = await echo();
    const gateway = await openTunnelTo(host);
    const opened = await tunnelTo(gateway.proxy, host);
    if (!('socket' in opened)) throw new Error(opened.body);
    opened.socket.on('error', () => undefined);
    await until(() => sockets.length === 1, 'the host is connected to');
    const [far] = sockets;
    if (who === 'the client') opened.socket.resetAndDestroy();
    else if (who === 'the host') far?.resetAndDestroy();
    else await gateway.close();
    await until(() => opened.socket.destroyed && far?.destroyed === true, 'both are closed');
  });
});

describe('bounds', verifies('gateway:proxy:bounds'), () => {
  it('headers that do not come are timed out, before and inside a tunnel, and so is a handshake', async () => {
    const house = await openProxy({ more: { limits: { headersMs: 1_000 } } });
    const { hostname, port } = new URL(house.gateway.proxy);
    const slow = connectNet(Number(port), hostname);
    const opened = await Promise.all(
      [house.plain, house.tls].map(({ url }) => tunnelTo(house.gateway.proxy, new URL(url).host)),
    );
    const tunnels = opened.map((one) => {
      if (!('socket' in one)) throw new Error(one.body);
      return one.socket;
    });
    const [plain, handshake] = tunnels as [Socket, Socket];
    slow.write('GET http://x/ HTTP/1.1\r\nHo');
    plain.write('GET /mcp HTTP/1.1\r\nHo');
    handshake.write('\x16\x03\x01');
    const ended = [slow, plain, handshake].map(
      (socket) =>
        new Promise((resolve) =>
          socket
            .resume()
            .on('error', () => undefined)
            .on('close', resolve),
        ),
    );
    await within(Promise.all(ended), () => 'a connection stays open');
  });

  it('a client that is decrypted and then silent is timed out', async () => {
    const house = await openProxy({ more: { limits: { headersMs: 1_000 } } });
    const opened = await tunnelTo(house.gateway.proxy, new URL(house.tls.url).host);
    if (!('socket' in opened)) throw new Error(opened.body);
    const secure = connectTls({ socket: opened.socket, ca: house.ca, servername: 'localhost' });
    secure.on('error', () => undefined).resume();
    secure.write('GET /mcp HTTP/1.1\r\nHo');
    await within(new Promise((resolve) => secure.on('close', resolve)), () => 'the connection stays open');
  });

  it('connections beyond the limit are refused, tunnels included', async () => {
    const house = await openProxy({ more: { limits: { connectionsPerAddress: 4 } } });
    const { host } = new URL(house.plain.url);
    const first = await Promise.all(Array.from({ length: 4 }, () => tunnelTo(house.gateway.proxy, host)));
    expect(first.every((one) => 'socket' in one)).toBe(true);
    const beyond = await tunnelTo(house.gateway.proxy, host);
    if ('socket' in beyond) throw new Error('one more tunnel');
    expect(beyond.json().error.data.reason).toBe('too_many_connections');
    for (const one of first) if ('socket' in one) one.socket.destroy();
    await expect.poll(async () => 'socket' in (await tunnelTo(house.gateway.proxy, host))).toBe(true);
  });

  it('a header block beyond the limit is refused inside a tunnel too', async () => {
    const house = await openProxy({ more: { limits: { headerBytes: 8_192 } } });
    const { host } = new URL(house.plain.url);
    const opened = await tunnelTo(house.gateway.proxy, host);
    if (!('socket' in opened)) throw new Error(opened.body);
    const heard = new Promise<string>((resolve) => opened.socket.once('data', (data) => resolve(String(data))));
    opened.socket.write(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\nX-A: ${'a'.repeat(10_000)}\r\n\r\n`);
    expect(await heard).toMatch(/^HTTP\/1\.1 431 /);
  });
});
