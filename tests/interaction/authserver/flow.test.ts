/** From a client that knows nothing but an address to a call that goes through. */
import { decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { isLogin } from './browser.ts';
import { callback, challenge, claimsOf, password, Setting } from './setting.ts';

describe('a token', verifies('gateway:authserver:flow', 'gateway:authserver:audience'), () => {
  it('is for the first endpoint if the client names none', async () => {
    const setting = await Setting.launch();
    const { access, client } = await setting.tokens();
    expect(claimsOf(access)).toMatchObject({
      iss: setting.origin,
      sub: 'ada',
      aud: `${setting.origin}/mcp`,
      client_id: client.client_id,
      scope: 'mcp',
    });
    // RFC 9068, 2.1.
    expect(decodeProtectedHeader(access)).toMatchObject({ typ: 'at+jwt', alg: 'ES256' });
    expect(await setting.enters(access)).toBe(200);
    expect(await setting.enters(access, '/servers/b/mcp')).toBe(401);
  });

  it('is for exactly the requested endpoint, however its address is spelled', async () => {
    const setting = await Setting.launch();
    const { port } = new URL(setting.origin);
    const one = await setting.tokens({ resource: `${setting.origin}/servers/b/mcp` });
    expect(claimsOf(one.access).aud).toBe(`${setting.origin}/servers/b/mcp`);
    expect(await setting.enters(one.access, '/servers/b/mcp')).toBe(200);
    expect(await setting.enters(one.access)).toBe(401);
    const other = await setting.tokens({ resource: `http://LOCALHOST:${port}/mcp/` });
    expect(claimsOf(other.access).aud).toBe(`http://localhost:${port}/mcp`);
    expect(await setting.enters(other.access)).toBe(200);
  });

  it.each(['https://other.example/mcp', 'http://127.0.0.1:1/mcp', '/mcp', 'nonsense', ''])(
    'is not given for %j',
    async (resource) => {
      const setting = await Setting.launch();
      const client = await setting.register();
      const url = setting.authorizeUrl(client, challenge(), { resource });
      const page = await setting.browser().go(url);
      if (page.status === 0) expect(page.url.searchParams.get('error')).toBe('invalid_target');
      // What is empty is taken for absent.
      else expect([resource, isLogin(page)]).toEqual(['', true]);
    },
  );

  it('is not issued for another endpoint than the user consented to', async () => {
    const setting = await Setting.launch();
    const client = await setting.register();
    const proof = challenge();
    const back = await setting.agree(setting.browser(), setting.authorizeUrl(client, proof));
    const resource = `${setting.origin}/servers/b/mcp`;
    const { status, json } = await setting.exchange(client, back.searchParams.get('code') ?? '', proof.verifier, {
      resource,
    });
    expect({ status, error: json.error }).toEqual({ status: 400, error: 'invalid_target' });
  });

  it('has the requested scopes, and those that the endpoint requires if none were requested', async () => {
    const setting = await Setting.launch({
      identity: { scopes: { required: ['mcp:use'], methods: { 'tools/call': ['tools:call'] } } },
      authServer: { scopes: { 'mcp:use': 'Look around', extra: 'Something more' } },
    });
    const scopes = async (scope?: string) =>
      claimsOf((await setting.tokens(scope === undefined ? {} : { scope })).access).scope;
    expect(await scopes()).toBe('mcp:use');
    expect(await scopes('mcp:use tools:call')).toBe('mcp:use tools:call');
    expect(await scopes('extra')).toBe('extra');
    expect(await scopes('no:such profile')).toBe('mcp:use');
  });
});

describe('the answer to the client', verifies('gateway:authserver:flow', 'hosting:auth:as:token-cache-headers'), () => {
  it('has the state and the issuer, and the token may not be kept by caches', async () => {
    const setting = await Setting.launch();
    const client = await setting.register();
    const proof = challenge();
    const back = await setting.agree(setting.browser(), setting.authorizeUrl(client, proof));
    expect(`${back.origin}${back.pathname}`).toBe(callback);
    expect([...back.searchParams.keys()].sort()).toEqual(['code', 'iss', 'state']);
    expect(back.searchParams.get('state')).toBe('the-state');
    expect(back.searchParams.get('iss')).toBe(setting.origin);
    const { status, headers, json } = await setting.exchange(
      client,
      back.searchParams.get('code') ?? '',
      proof.verifier,
    );
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(json).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'mcp' });
  });

  it('is access_denied if the user declines, on either page', async () => {
    const setting = await Setting.launch();
    const client = await setting.register();
    const browser = setting.browser();
    const url = setting.authorizeUrl(client, challenge());
    const first = await browser.submit(await browser.go(url), { action: 'deny' });
    expect(first.url.searchParams.get('error')).toBe('access_denied');
    const consent = await browser.submit(await browser.go(url), { action: 'sign-in', name: 'ada', password });
    const second = await browser.submit(consent, { action: 'deny' });
    expect(second.url.searchParams.get('error')).toBe('access_denied');
    expect(second.url.searchParams.get('code')).toBeNull();
  });
});

const documents = verifies(
  'gateway:authserver:metadata',
  'hosting:auth:as-router',
  'client-auth:identity-assertion:metadata-advertised',
);

describe('the documents', documents, () => {
  it('name the issuer and its endpoints', async () => {
    const setting = await Setting.launch();
    const { origin } = setting;
    const metadata = await setting.metadata();
    expect(metadata).toMatchObject({
      issuer: origin,
      authorization_endpoint: `${origin}/oauth/authorize`,
      token_endpoint: `${origin}/oauth/token`,
      registration_endpoint: `${origin}/oauth/register`,
      revocation_endpoint: `${origin}/oauth/revoke`,
      jwks_uri: `${origin}/oauth/jwks`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      scopes_supported: expect.arrayContaining(['mcp', 'offline_access']),
    });
    expect(metadata.token_endpoint_auth_methods_supported).toContain('none');
    expect(await setting.metadata('/.well-known/openid-configuration')).toEqual(metadata);
    const resource = await setting.metadata('/.well-known/oauth-protected-resource/mcp');
    expect(resource).toMatchObject({ resource: `${origin}/mcp`, authorization_servers: [origin] });
    const { keys } = await setting.metadata('/oauth/jwks');
    expect(keys).toHaveLength(1);
    expect(Object.keys(keys[0]).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });

  it('ignore the Host header and proxy headers', async () => {
    const setting = await Setting.launch();
    const { port } = new URL(setting.origin);
    const url = `${setting.origin}/.well-known/oauth-authorization-server`;
    for (const headers of [
      { host: `localhost:${port}` },
      { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    ]) {
      const answer = await send(url, { method: 'GET', headers });
      expect(answer.json().token_endpoint).toBe(`${setting.origin}/oauth/token`);
    }
    expect((await send(url, { method: 'GET', headers: { host: 'evil.example' } })).status).toBe(403);
  });

  it('do not offer disabled features', async () => {
    const setting = await Setting.launch({ authServer: { registration: 'off', metadataDocuments: false } });
    const metadata = await setting.metadata();
    expect(metadata).not.toHaveProperty('registration_endpoint');
    expect(metadata).not.toHaveProperty('client_id_metadata_document_supported');
    expect((await fetch(`${setting.origin}/oauth/register`, { method: 'POST' })).status).toBe(404);
  });
});

describe('browser pages of allowed origins', verifies('gateway:authserver:flow'), () => {
  it('may register and get tokens; others may not', async () => {
    const setting = await Setting.launch();
    for (const path of ['/oauth/register', '/oauth/token', '/.well-known/oauth-authorization-server']) {
      const ask = (origin: string) =>
        send(`${setting.origin}${path}`, {
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': 'POST' },
        });
      const allowed = await ask('http://localhost:6274');
      expect(allowed.status, path).toBe(204);
      expect(allowed.headers['access-control-allow-origin'], path).toBe('http://localhost:6274');
      expect((await ask('https://evil.example')).status, path).toBe(403);
    }
    const origin = 'http://localhost:6274';
    const registered = await setting.post('/oauth/register', { redirect_uris: [callback] }, { origin });
    expect(registered.headers.get('access-control-allow-origin')).toBe(origin);
  });
});

it('is not there unless it is configured', verifies('gateway:authserver:off'), async () => {
  const backend = await modernBackend();
  const gateway = await startGateway({ backends: { b: { url: backend.url } } });
  for (const path of ['/oauth/token', '/oauth/authorize', '/oauth/jwks', '/.well-known/oauth-authorization-server']) {
    expect((await fetch(`${gateway.origin}${path}`)).status, path).toBe(404);
  }
});

describe('an assertion', verifies('client-auth:identity-assertion:disabled-rejected'), () => {
  it('is no grant that the server has', async () => {
    const setting = await Setting.launch();
    const client = await setting.register();
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      client_id: client.client_id,
      assertion: 'e30.e30.e30',
    };
    const { status, json } = await setting.post('/oauth/token', new URLSearchParams(form));
    expect({ status, error: json.error }).toEqual({ status: 400, error: 'unsupported_grant_type' });
  });
});
