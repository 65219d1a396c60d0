/** What many clients may hold at the same time, before and while they are served: bytes of bodies, and connections. */
import { describe, expect, it } from 'vitest';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';

const kib = 1024;
const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

function start(limits: Readonly<Record<string, number>>, listen: ConfigValue = {}): Promise<TestGateway> {
  return startGateway({ backends: {}, limits, listen });
}

/** Has sent so many bytes of a body that is longer, and the gateway has them. */
async function halfSent(gateway: TestGateway, bytes: number, headers: Record<string, string> = {}, path = '/mcp') {
  const client = new RawClient(Number(new URL(gateway.origin).port));
  const more = { ...headers, 'Content-Length': 2 * bytes, Expect: '100-continue' };
  client.send(head('POST', path, { ...json, ...more }));
  await client.until('HTTP/1.1 100 Continue');
  client.send('x'.repeat(bytes));
  return client;
}

describe('half-sent bodies', verifies('gateway:http:bodies-bounded'), () => {
  const limits = { bodyBytes: 800 * kib, bodyBytesTotal: 1024 * kib, bodyBytesPerAddress: 600 * kib };

  it.each(['/mcp', '/messages'])('of one address are refused with 503 beyond its share: %s', async (path) => {
    const gateway = await start(limits);
    await halfSent(gateway, 300 * kib, {}, path);
    await halfSent(gateway, 300 * kib, {}, path);
    const third = await halfSent(gateway, 300 * kib, {}, path);
    const text = await third.until('"bodies_busy"');
    expect(text).toContain('HTTP/1.1 503 ');
    expect(text).toContain('Retry-After: 1\r\n');
  });

  it('of callers behind a trusted proxy are counted for each of them, and all together', async () => {
    const gateway = await start(limits, { trustedProxies: ['127.0.0.1'] });
    const from = (address: string) => halfSent(gateway, 350 * kib, { 'X-Forwarded-For': address });
    await from('192.0.2.1');
    await from('192.0.2.2');
    await (await from('192.0.2.1')).until('"bodies_busy"');
    await (await from('192.0.2.3')).until('"bodies_busy"');
  });

  it('give their room back when their connection ends', async () => {
    // Two fit, since the end of one connection may be seen after the beginning of the next.
    const gateway = await start({ ...limits, bodyBytesPerAddress: 1000 * kib });
    for (let at = 0; at < 6; at += 1) {
      const client = await halfSent(gateway, 390 * kib);
      client.socket.destroy();
      await client.closed;
      // What is larger than one piece needs room, too.
      expect((await send(gateway.url(), { body: 'x'.repeat(200 * kib) })).status).toBe(400);
    }
  });

  it('of others do not block requests that come in one piece', async () => {
    const gateway = await start({ ...limits, bodyBytesPerAddress: 300 * kib });
    await halfSent(gateway, 300 * kib);
    const answer = await send(gateway.url(), modern({ method: 'server/discover' }));
    expect(answer.status).toBe(200);
  });
});

describe('connections', verifies('gateway:http:connections-bounded'), () => {
  async function opened(gateway: TestGateway): Promise<RawClient> {
    const client = new RawClient(Number(new URL(gateway.origin).port));
    client.send(head('GET', '/healthz'));
    await client.until('"status":"ok"');
    return client;
  }

  it.each([
    { name: 'of all clients', limits: { connectionsTotal: 2, connectionsPerAddress: 2 } },
    { name: 'of one address', limits: { connectionsTotal: 100, connectionsPerAddress: 2 } },
  ])('$name beyond the limit get an error and are closed, and health paths answer on them', async ({ limits }) => {
    const gateway = await start(limits);
    const [first] = [await opened(gateway), await opened(gateway)];
    const third = await opened(gateway);
    third.send(head('GET', '/mcp', json));
    const text = await third.until('"too_many_connections"');
    expect(text).toContain('HTTP/1.1 503 ');
    await third.closed;
    expect(gateway.counters.snapshot()['ingress.refused.too_many_connections']).toBe(1);
    expect(gateway.log.filter(({ text: line }) => line.includes('connections are refused'))).toHaveLength(1);
    first?.socket.destroy();
    await first?.closed;
    const discover = modern({ method: 'server/discover' });
    // The gateway sees the end of a connection a little later than its client.
    for (let tries = 0; tries < 100; tries += 1) {
      if ((await send(gateway.url(), discover)).status === 200) break;
    }
    expect((await send(gateway.url(), discover)).status).toBe(200);
  });

  it('of a trusted proxy are not counted as those of one address', async () => {
    const gateway = await start({ connectionsTotal: 100, connectionsPerAddress: 1 }, { trustedProxies: ['127.0.0.1'] });
    await opened(gateway);
    expect((await send(gateway.url(), modern({ method: 'server/discover' }))).status).toBe(200);
  });
});
