/** Which names clients may call the gateway by, behind a proxy too, and what an operator is told of others. */
import { describe, expect, it } from 'vitest';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { refusal } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';

/** Listens on 127.0.0.1, as behind a proxy on the same machine. */
async function behindProxy(): Promise<{ gateway: TestGateway; headers: Record<string, string> }> {
  const ring = keyRing();
  const key = ring.make('carol');
  const gateway = await startGateway({
    backends: {},
    identity: { keys: { file: ring.path }, publicUrl: 'https://mcp.example.com' },
  });
  return { gateway, headers: bearer(key) };
}

describe('on a loopback address, the host of `publicUrl`', verifies('gateway:http:public-host'), () => {
  it.each([
    { name: 'as it is', host: 'mcp.example.com' },
    { name: 'with a port', host: 'MCP.example.com:443' },
  ])('is served, $name', async ({ host }) => {
    const { gateway, headers } = await behindProxy();
    const answer = await send(gateway.url(), modern({ method: 'server/discover', headers: { ...headers, host } }));
    expect(answer.status).toBe(200);
    const line = await send(gateway.url().replace(/mcp$/, 'sse'), { method: 'GET', headers: { host } });
    expect(line.status).toBe(401);
  });

  it('does not allow other hosts', async () => {
    const { gateway, headers } = await behindProxy();
    const other = { ...headers, host: 'evil.mcp.example.com' };
    const answer = await send(gateway.url(), modern({ method: 'server/discover', headers: other }));
    expect(answer.status).toBe(403);
    expect(answer.json().error.data.reason).toBe('host_not_allowed');
  });
});

describe('a refused `Host`', verifies('gateway:http:host-logged'), () => {
  it('is logged once with the setting that allows it, and counted each time', async () => {
    const { gateway } = await behindProxy();
    for (const host of ['a.example', 'a.example', 'b.example', 'a.example']) {
      expect((await send(gateway.url(), { body: {}, headers: { host } })).status).toBe(403);
    }
    const lines = gateway.log.filter(({ facts }) => 'host' in facts);
    expect(lines.map(({ level, facts }) => `${level} ${facts.host}`)).toEqual(['warn a.example', 'warn b.example']);
    for (const { text } of lines) expect(text).toContain('listen.allowedHosts');
    expect(gateway.counters.snapshot()['ingress.refused.host_not_allowed']).toBe(4);
  });

  it('is logged for a bounded number of values, each cut to a bounded length', async () => {
    const { gateway } = await behindProxy();
    for (let at = 0; at < 100; at += 1) {
      await send(gateway.url(), { body: {}, headers: { host: `${at}.${'x'.repeat(1000)}.example` } });
    }
    const lines = gateway.log.filter(({ text }) => text.includes('listen.allowedHosts'));
    expect(lines.length).toBeLessThanOrEqual(33);
    for (const { facts } of lines) expect(String(facts.host ?? '').length).toBeLessThanOrEqual(128);
    expect(gateway.counters.snapshot()['ingress.refused.host_not_allowed']).toBe(100);
  });
});

describe('health paths', verifies('gateway:run:health-any-host'), () => {
  it.each(['/healthz', '/readyz'])('%s answers any `Host`', async (path) => {
    const { gateway } = await behindProxy();
    for (const host of ['10.1.2.3:8808', 'probe.internal']) {
      expect((await send(`${gateway.origin}${path}`, { method: 'GET', headers: { host } })).status).toBe(200);
    }
  });
});

describe('two `Host` headers', verifies('gateway:http:two-hosts'), () => {
  it.each([
    { name: 'the allowed one first', path: '/mcp', hosts: ['localhost', 'evil.example'] },
    { name: 'the allowed one last', path: '/mcp', hosts: ['evil.example', 'localhost'] },
    { name: 'the same twice', path: '/mcp', hosts: ['localhost', 'localhost'] },
    { name: 'at a health path', path: '/healthz', hosts: ['localhost', 'other'] },
    { name: 'at the page for consent', path: '/connect/x', hosts: ['localhost', 'other'] },
  ])('are answered 400, $name', async ({ path, hosts: [first = '', second = ''] }) => {
    const { gateway } = await behindProxy();
    const client = new RawClient(Number(new URL(gateway.origin).port));
    const text = head('GET', path, { Host: first, Accept: 'text/event-stream' });
    client.send(text.replace('\r\n\r\n', `\r\nhOST: ${second}\r\n\r\n`));
    const answer = await client.until('}}}');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual(
      refusal({ code: -32600, message: 'The Host header is repeated', reason: 'invalid_request' }),
    );
  });

  it('are answered 400, the second one after more headers than Node keeps by default', async () => {
    const { gateway } = await behindProxy();
    const client = new RawClient(Number(new URL(gateway.origin).port));
    const many = 'a: 1\r\n'.repeat(1_100);
    client.send(head('GET', '/healthz', { Host: 'localhost' }).replace('\r\n\r\n', `\r\n${many}Host: other\r\n\r\n`));
    expect(await client.until('}}}')).toMatch(/^HTTP\/1\.1 400 /);
  });
});
