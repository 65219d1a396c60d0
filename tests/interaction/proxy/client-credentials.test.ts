/** `credentials: client`: what clients present is the backend's, and separates them from each other. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { initialize, modern } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { openProxy, type ProxyHouse, sendRaw, trustBackends, ways } from './setup.ts';

trustBackends();

const backend = { credentials: 'client' };
const challenge = 'Bearer resource_metadata="https://backend.example/.well-known/oauth-protected-resource"';

/** Lists one tool, which says whose list it is, and refuses senders without a token. */
const personal: Script = {
  'server/discover': (turn) => {
    if (turn.received.headers.authorization === undefined) turn.raw(401, { 'www-authenticate': challenge });
    else
      turn.result({
        ...{ resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        ...{ ttlMs: 60_000, cacheScope: 'private' },
      });
  },
  'tools/list': (turn) =>
    turn.result({
      ...{ resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' },
      tools: [{ name: `of ${turn.received.headers.authorization}`, inputSchema: { type: 'object' } }],
    }),
};

const list = (token?: string) =>
  modern({ method: 'tools/list', ...(token !== undefined && { headers: { authorization: token } }) });

async function toolsOf(house: ProxyHouse, way: (typeof ways)[number], token: string): Promise<string[]> {
  const { result } = (await way.send(house, list(token))).json();
  return result.tools.map(({ name }: { name: string }) => name);
}

describe.each(ways)('by $name', verifies('gateway:proxy:client-credentials'), (way) => {
  it('the backend gets each client’s own, and no list of one is shown to another', async () => {
    const house = await openProxy({ backend, script: personal });
    expect(await toolsOf(house, way, 'Bearer a')).toEqual(['of Bearer a']);
    expect(await toolsOf(house, way, 'Bearer b')).toEqual(['of Bearer b']);
    expect(await toolsOf(house, way, 'Bearer a')).toEqual(['of Bearer a']);
    expect(JSON.stringify([house.records, house.gateway.log])).not.toMatch(/Bearer [ab]/);
  });

  it('a legacy session of one credential is not found with another', async () => {
    const house = await openProxy({ era: 'legacy', backend });
    const opened = await way.send(house, { body: initialize(), headers: { authorization: 'Bearer a' } });
    const session = {
      'mcp-session-id': String(opened.headers['mcp-session-id']),
      'mcp-protocol-version': '2025-11-25',
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work' } };
    const by = (authorization: string) => way.send(house, { body, headers: { ...session, authorization } });
    expect((await by('Bearer a')).json().result).toBeDefined();
    house.forget();
    expect((await by('Bearer b')).status).toBe(404);
    expect((await way.send(house, { body, headers: session })).status).toBe(404);
    expect(house.bytes).toBe(0);
    expect((await by('Bearer a')).json().result).toBeDefined();
    expect(house[way.to].of('tools/call').map(({ headers }) => headers.authorization)).toEqual(['Bearer a']);
  });

  it('the backend’s refusal reaches its client: status and challenge', async () => {
    const house = await openProxy({ backend, script: personal });
    const answer = await way.send(house, list());
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, challenge]);
    expect(answer.json().error.data.reason).toBe('client_credential_refused');
    // Then it has a token.
    expect(await toolsOf(house, way, 'Bearer a')).toEqual(['of Bearer a']);
  });
});

describe('credentials of clients', verifies('gateway:proxy:client-credentials'), () => {
  it('two Authorization headers are refused', async () => {
    const house = await openProxy({ backend, script: personal });
    const { host } = new URL(house.plain.url);
    const head = `POST http://${host}/mcp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: a\r\nAuthorization: b\r\n`;
    expect(await sendRaw(house.gateway.proxy, `${head}Content-Length: 0\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 400 .*credentials_ambiguous/s,
    );
  });

  it('at the gateway’s own address there are none, and no challenge of the backend is passed on', async () => {
    const house = await openProxy({ backend, script: personal });
    const answer = await send(house.gateway.url('plain'), list('Bearer a'));
    expect(answer.json().error.data.reason).toBe('backend_unauthorized');
    expect(answer.headers['www-authenticate']).toBeUndefined();
    expect(house.plain.received.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });

  it('limits count the holder: another credential is no other person', async () => {
    const ring = keyRing();
    const forProxy = { 'proxy-authorization': `Bearer ${ring.make('alice')}` };
    const more = { identity: { keys: { file: ring.path } }, limits: { sessionsPerPrincipal: 2 } };
    const house = await openProxy({ era: 'legacy', backend, more });
    const statuses = [];
    for (const authorization of ['Bearer a', 'Bearer b', 'Bearer c'])
      statuses.push((await ways[0]?.send(house, { body: initialize(), headers: { authorization }, forProxy }))?.status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('the host’s documents about authorization are relayed, and no other address', async () => {
    const document = { resource: 'https://backend.example/mcp', authorization_servers: ['https://login.example'] };
    const house = await openProxy({ era: 'legacy', backend, script: { GET: (turn) => turn.json(document) } });
    house.forget();
    for (const way of ways) {
      const headers = { authorization: 'Bearer a' };
      for (const path of ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-authorization-server']) {
        const answer = await way.send(house, { method: 'GET', headers, path });
        expect([answer.status, answer.json()]).toEqual([200, document]);
      }
      const { received } = house[way.to];
      expect(received.map(({ http, headers: sent }) => [http, sent.authorization])).toEqual([
        ...Array.from({ length: received.length }, () => ['GET', undefined]),
      ]);
      for (const call of [
        { method: 'POST', body: {}, path: '/.well-known/oauth-authorization-server' },
        { method: 'GET', path: '/.well-known/oauth-authorization-server?a=b' },
        { method: 'GET', path: '/.well-known/jwks.json' },
        { method: 'GET', path: '/.well-known/oauth-protected-resource/..%2f..%2fadmin' },
      ])
        expect((await way.send(house, call)).json().error.data.reason).toBe('proxy_path_not_listed');
    }
  });

  it('a document that is a redirect, or none, is not relayed', async () => {
    const answers = [
      { status: 302, headers: { location: 'http://169.254.169.254/' }, body: '' },
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' },
      { status: 404, headers: {}, body: '' },
    ];
    const script: Script = {
      GET: (turn) => {
        const { status, headers, body } = answers.shift() ?? { status: 500, headers: {}, body: '' };
        turn.raw(status, headers as Record<string, string>, body);
      },
    };
    const house = await openProxy({ era: 'legacy', backend, script });
    const path = '/.well-known/oauth-protected-resource';
    const reasons = [];
    for (const way of [ways[0], ways[0], ways[0], ways[0]])
      reasons.push((await way?.send(house, { method: 'GET', path }))?.json().error.data.reason);
    expect(reasons).toEqual([
      ...['authorization_untrusted', 'authorization_untrusted', 'path_not_found', 'authorization_unavailable'],
    ]);
  });
});
