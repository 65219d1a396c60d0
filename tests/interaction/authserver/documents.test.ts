/**
 * Clients that are the address of a document about them.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#client-id-metadata-documents
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { challenge, claimsOf, password, Setting } from './setting.ts';

const id = 'https://app.example/oauth/client.json';
const document = {
  client_id: id,
  client_name: 'Documented App',
  client_uri: 'https://app.example',
  redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  scope: 'openid profile no:such',
};

interface World {
  readonly answer: () => Response | Promise<Response>;
}

async function knowing({ answer }: World) {
  const asked: string[] = [];
  const setting = await Setting.launch({
    ports: {
      outwardFetch: async (url) => {
        asked.push(String(url));
        return answer();
      },
    },
  });
  const client = { client_id: id, redirect_uris: ['http://localhost:5123/callback'] };
  return { setting, asked, client };
}

const json = (body: unknown, init: ResponseInit = {}) => Response.json(body, init);

describe('a client identified by a metadata document', verifies('gateway:authserver:metadata-documents'), () => {
  it('gets a token, is named on the page with the host that vouches for it, and is fetched once', async () => {
    const { setting, asked, client } = await knowing({ answer: () => json(document) });
    const proof = challenge();
    const browser = setting.browser();
    const login = await browser.go(setting.authorizeUrl(client, proof));
    const consent = await browser.submit(login, { action: 'sign-in', name: 'ada', password });
    expect(consent.text).toContain('Documented App');
    expect(consent.text).toContain('As published by <span class="code">app.example</span>');
    expect(consent.text).toContain('localhost:5123');
    const back = await browser.submit(consent, { action: 'allow' });
    const { json: tokens } = await setting.exchange(client, back.url.searchParams.get('code') ?? '', proof.verifier);
    expect(claimsOf(tokens.access_token)).toMatchObject({ client_id: id, sub: 'ada' });
    expect(await setting.enters(tokens.access_token)).toBe(200);
    expect((await setting.refresh(client, tokens.refresh_token)).status).toBe(200);
    expect(asked).toEqual([id]);
  });

  const refused: readonly { name: string; answer: () => Response | Promise<Response> }[] = [
    { name: 'is of another client', answer: () => json({ ...document, client_id: `${id}x` }) },
    { name: 'is no JSON', answer: () => new Response('<html>') },
    { name: 'is a list', answer: () => json([document]) },
    { name: 'is null', answer: () => json(null) },
    { name: 'is too large', answer: () => json({ ...document, x: 'x'.repeat(6_000) }) },
    { name: 'is not there', answer: () => new Response('', { status: 404 }) },
    {
      name: 'is elsewhere',
      answer: () => new Response('', { status: 302, headers: { location: 'http://127.0.0.1/' } }),
    },
    { name: 'has a secret', answer: () => json({ ...document, client_secret: 'x' }) },
    {
      name: 'wants to use a secret',
      answer: () => json({ ...document, token_endpoint_auth_method: 'client_secret_post' }),
    },
    {
      name: 'has a redirect that is not allowed',
      answer: () => json({ ...document, redirect_uris: ['http://evil.example/'] }),
    },
    { name: 'has no redirects', answer: () => json({ ...document, redirect_uris: undefined }) },
    {
      name: 'leads inside',
      answer: () => {
        throw Object.assign(new Error('the address is forbidden'), { kind: 'address_forbidden' });
      },
    },
    {
      name: 'has a body that breaks off',
      answer: () => new Response(new ReadableStream({ pull: (c) => c.error(new Error('x')) })),
    },
  ];
  it.each(refused)('whose document $name is rejected', async ({ answer }) => {
    const { setting, client } = await knowing({ answer });
    const page = await setting.browser().go(setting.authorizeUrl(client, challenge()));
    expect(page.status).toBe(400);
    expect(page.text).toMatch(/invalid_client|invalid_redirect_uri/);
    expect(page.text).not.toContain('password');
    const exchanged = await setting.exchange(client, 'x', 'y'.repeat(43));
    expect(exchanged.status).toBeGreaterThanOrEqual(400);
    expect(exchanged.status).toBeLessThan(500);
  });

  it.each([
    'http://app.example/client.json',
    'https://user@app.example/client.json',
    'https://app.example/a/../client.json',
    'https://app.example/client.json#x',
    'ftp://app.example/client.json',
  ])('is not fetched at %s', async (client_id) => {
    const { setting, asked, client } = await knowing({ answer: () => json(document) });
    const page = await setting.browser().go(setting.authorizeUrl({ ...client, client_id }, challenge()));
    expect(page.status).toBe(400);
    expect(asked).toEqual([]);
  });

  it('is fetched only so often because of one address', verifies('gateway:authserver:bounded'), async () => {
    const { setting, asked, client } = await knowing({ answer: () => new Response('', { status: 500 }) });
    for (let at = 0; at < 65; at += 1) {
      const url = setting.authorizeUrl({ ...client, client_id: `${id}?${at}` }, challenge());
      expect((await fetch(url, { redirect: 'manual' })).status).toBe(400);
    }
    expect(asked.length).toBeLessThanOrEqual(60);
  });
});
