/** Clients that use a backend under the backend's own address, through the proxy. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { fetch as fetchWith, ProxyAgent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { initialize, modern } from '../harness/eras.ts';
import { openProxy, type ProxyHouse, sendRaw, trustBackends, ways } from './setup.ts';

trustBackends();

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const self = { name: 'sdk-client', version: '1.0.0' };

/** As `fetch` of a program is with `HTTPS_PROXY`: everything goes through CONNECT. */
function proxiedFetch({ gateway, ca }: ProxyHouse): typeof fetch {
  const dispatcher = new ProxyAgent({ uri: gateway.proxy, requestTls: { ca, rejectUnauthorized: true } });
  onTestFinished(() => dispatcher.destroy());
  return ((input: string | URL, init?: RequestInit) =>
    fetchWith(input, { ...(init as object), dispatcher })) as unknown as typeof fetch;
}

describe.each(['plain', 'tls'] as const)('a backend with an address that is %s', (to) => {
  it.each(['legacy', 'modern'] as const)(
    'SDK v1 calls a tool of a %s backend through undici’s ProxyAgent',
    verifies('gateway:proxy:served'),
    async (era) => {
      const house = await openProxy({ era });
      const client = new ClientV1(self, { capabilities: {} });
      onTestFinished(() => client.close());
      const transport = new HttpV1(new URL(house[to].url), { fetch: proxiedFetch(house) });
      await client.connect(transport as Parameters<ClientV1['connect']>[0]);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['work']);
      expect((await client.callTool({ name: 'work' })).content).toEqual([{ type: 'text', text: 'work' }]);
      expect(house.records.filter(({ action }) => action === 'call')).toMatchObject([
        { decision: 'allow', endpoint: `/servers/${to}/mcp`, backend: to, name: 'work' },
      ]);
    },
  );

  it.each(['legacy', 'modern'] as const)(
    'SDK v2 calls a tool of a %s backend through undici’s ProxyAgent',
    verifies('gateway:proxy:served'),
    async (era) => {
      const house = await openProxy({ era });
      const client = new ClientV2(self, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
      onTestFinished(() => client.close());
      await client.connect(new HttpV2(new URL(house[to].url), { fetch: proxiedFetch(house) }));
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['work']);
      expect((await client.callTool({ name: 'work' })).content).toEqual([{ type: 'text', text: 'work' }]);
    },
  );
});

describe.each(ways)('by $name', ({ send, to }) => {
  it('a legacy session goes on, has its stream, and ends', verifies('gateway:proxy:served'), async () => {
    const house = await openProxy({ era: 'legacy' });
    const opened = await send(house, { body: initialize() });
    const headers = {
      'mcp-session-id': String(opened.headers['mcp-session-id']),
      'mcp-protocol-version': '2025-11-25',
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work' } };
    expect((await send(house, { body, headers })).json().result.content).toEqual([{ type: 'text', text: 'work' }]);
    house.forget();
    const other = { ...headers, 'mcp-protocol-version': '2025-06-18' };
    const refused = await send(house, { body, headers: other });
    expect([refused.status, refused.json().error.data.reason]).toEqual([400, 'unsupported_version_header']);
    expect(house.bytes).toBe(0);
    expect((await send(house, { method: 'DELETE', headers })).status).toBe(204);
    expect((await send(house, { body, headers })).status).toBe(404);
    expect(house[to].of('tools/call')).toEqual([]);
  });

  it(
    'the backend gets the gateway’s credentials, and not the client’s',
    verifies('gateway:proxy:served', 'gateway:proxy:identity'),
    async () => {
      const house = await openProxy({ backend: { headers: { Authorization: 'Bearer ours' } } });
      const call = modern({
        method: 'tools/call',
        params: { name: 'work' },
        headers: { authorization: 'Bearer theirs' },
      });
      await send(house, call);
      await house[to].arrival('tools/call');
      const sent = house[to].received.map(({ headers: { authorization } }) => authorization);
      expect(new Set(sent)).toEqual(new Set(['Bearer ours']));
    },
  );
});

it(
  'a request counts under its client, where proxies before it are trusted',
  verifies('gateway:proxy:served'),
  async () => {
    const house = await openProxy({ more: { listen: { trustedProxies: ['127.0.0.1'] } } });
    const { body, headers } = modern({ method: 'tools/call', params: { name: 'work' } });
    const text = JSON.stringify(body);
    const { host, href } = new URL(house.plain.url);
    // In chunks: the address is asked for while the body is read.
    const halves = [text.slice(0, 9), text.slice(9)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
    const lines = Object.entries({ ...headers, 'x-forwarded-for': '192.0.2.9', ...json }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const head = [`POST ${href} HTTP/1.1`, `Host: ${host}`, 'Proxy-Connection: keep-alive', 'Connection: close'];
    const answer = await sendRaw(
      house.gateway.proxy,
      `${[...head, 'Transfer-Encoding: chunked', ...lines].join('\r\n')}\r\n\r\n${halves.join('')}0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(house.records).toMatchObject([{ decision: 'allow', address: '192.0.2.9' }]);
  },
);
