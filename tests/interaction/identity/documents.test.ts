/**
 * Where clients learn which issuers an endpoint trusts, and by which spellings of its address a token may be for it.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { bearer, tokenIssuer } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';

async function setting(more: ConfigValue = {}, identity: ConfigValue = {}) {
  const issuer = await tokenIssuer();
  const backend = await modernBackend();
  const gateway = await startGateway({
    backends: { b: { url: backend.url } },
    identity: { issuers: [{ issuer: issuer.url }], ...identity },
    ...more,
  });
  const document = (path: string, headers = {}) =>
    send(`${gateway.origin}/.well-known/oauth-protected-resource${path}`, { method: 'GET', headers });
  const enters = async (path: string, aud: unknown) => {
    const headers = bearer(await issuer.token(aud));
    return (await send(`${gateway.origin}${path}`, modern({ method: 'server/discover', headers }))).status === 200;
  };
  return { issuer, backend, gateway, document, enters };
}

describe('protected resource metadata', () => {
  it(
    'is there for every address, and at the root for the first',
    verifies('hosting:auth:metadata-endpoints', 'hosting:auth:prm:authorization-servers-field'),
    async () => {
      const { issuer, gateway, document } = await setting({}, { scopes: { required: ['mcp:use'] } });
      const paths = ['/mcp', '/sse', '/servers/b/mcp', '/servers/b/sse'];
      for (const path of paths) {
        const answer = await document(path);
        expect(answer.status, path).toBe(200);
        expect(answer.json(), path).toEqual({
          resource: `${gateway.origin}${path}`,
          authorization_servers: [issuer.url],
          scopes_supported: ['mcp:use'],
          bearer_methods_supported: ['header'],
        });
      }
      // A slash behind the address is the same address.
      for (const path of ['', '/mcp/']) expect((await document(path)).json()).toEqual((await document('/mcp')).json());
      for (const path of ['/other', '/mcp//', '/healthz', '/servers'])
        expect((await document(path)).status, path).toBe(404);
    },
  );

  it('names the host that the client used, if it is allowed', verifies('hosting:auth:metadata-endpoints'), async () => {
    const { gateway, document } = await setting();
    const host = `localhost:${new URL(gateway.origin).port}`;
    expect((await document('/mcp', { host })).json().resource).toBe(`http://${host}/mcp`);
    expect((await document('/mcp', { host: 'evil.example' })).status).toBe(403);
  });

  it('is not there for endpoints that take no tokens', verifies('hosting:auth:metadata-endpoints'), async () => {
    const { document } = await setting({
      endpoints: [{ path: '/open', identity: 'none' }, { path: '/mcp' }],
    });
    expect((await document('/open')).status).toBe(404);
    expect((await document('/mcp')).status).toBe(200);
  });
});

describe('a token', verifies('gateway:identity:audience-compare', 'hosting:auth:aud-validation'), () => {
  it('may spell the address differently, if it means the same', async () => {
    const { gateway, enters } = await setting();
    const { port } = new URL(gateway.origin);
    for (const aud of [
      `${gateway.origin}/mcp`,
      `${gateway.origin}/mcp/`,
      `HTTP://LocalHost:${port}/mcp`,
      `http://[::1]:0${port}/mcp`,
      ['https://other.example', `${gateway.origin}/mcp`],
      `${gateway.origin}/sse`,
    ]) {
      expect(await enters('/mcp', aud), String(aud)).toBe(true);
    }
    for (const aud of [
      `${gateway.origin}/mcp//`,
      `${gateway.origin}/MCP`,
      `https://127.0.0.1:${port}/mcp`,
      `${gateway.origin}/servers/b/mcp`,
    ]) {
      expect(await enters('/mcp', aud), aud).toBe(false);
    }
  });

  it('is for the public address if there is one, with its default port or without', async () => {
    const { gateway, enters } = await setting({}, { publicUrl: 'https://MCP.example' });
    for (const aud of ['https://mcp.example/mcp', 'https://mcp.example:443/mcp/']) {
      expect(await enters('/mcp', aud), aud).toBe(true);
    }
    for (const aud of [`${gateway.origin}/mcp`, 'http://mcp.example/mcp', 'https://mcp.example:444/mcp']) {
      expect(await enters('/mcp', aud), aud).toBe(false);
    }
  });

  it('may be for the configured audience of the endpoint', async () => {
    const { enters } = await setting({
      endpoints: [{ path: '/mcp', identity: { audiences: ['api://bascule'] } }, { path: '/other' }],
    });
    expect(await enters('/mcp', 'api://bascule')).toBe(true);
    expect(await enters('/mcp', 'API://bascule')).toBe(false);
    expect(await enters('/other', 'api://bascule')).toBe(false);
  });

  it('for an address that another endpoint has is not for this one, though this one would have been there', async () => {
    // `/` and `/mcp` would both have their older transport at `/sse`; the config gives it to a third.
    const { gateway, enters } = await setting({
      endpoints: [{ path: '/' }, { path: '/mcp' }, { path: '/sse' }],
    });
    const aud = `${gateway.origin}/sse`;
    expect([await enters('/', aud), await enters('/mcp', aud), await enters('/sse', aud)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('without an audience will do where the issuer was vouched for, and only then', async () => {
    const issuer = await tokenIssuer();
    const backend = await modernBackend();
    const gateway = await startGateway({
      backends: { b: { url: backend.url } },
      identity: { issuers: [{ issuer: issuer.url, audienceCheckedByVerifier: true }] },
    });
    const url = gateway.url();
    await connectLegacy(url, {}, bearer(await issuer.token(undefined)));
    const other = bearer(await issuer.token('https://other.example'));
    expect((await send(url, modern({ method: 'server/discover', headers: other }))).status).toBe(401);
  });
});
