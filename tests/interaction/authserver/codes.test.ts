/** A code is worth something once, to one client, with the verifier, at the address that it was sent to. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { callback, challenge, Setting } from './setting.ts';

describe('an authorization request', () => {
  const cases = [
    { name: 'without a challenge', change: { code_challenge: '' }, error: 'invalid_request' },
    { name: 'with a plain challenge', change: { code_challenge_method: 'plain' }, error: 'invalid_request' },
    { name: 'with an invalid challenge', change: { code_challenge: 'short' }, error: 'invalid_request' },
    { name: 'for an implicit token', change: { response_type: 'token' }, error: 'unsupported_response_type' },
    { name: 'for an ID token at once', change: { response_type: 'code id_token' }, error: 'unsupported_response_type' },
    { name: 'with a request object', change: { request: 'x.y.z' }, error: 'request_not_supported' },
  ];
  it.each(cases)('$name is refused', verifies('hosting:auth:as:authorize-requires-pkce'), async ({ change, error }) => {
    const setting = await Setting.launch();
    const client = await setting.register();
    const { url, status } = await setting.browser().go(setting.authorizeUrl(client, challenge(), change));
    expect(status).toBe(0);
    expect(`${url.origin}${url.pathname}`).toBe(callback);
    // OAuth 2.0 Multiple Response Types, 5: what was asked for in a fragment is refused in one.
    const told = new URLSearchParams(url.search || url.hash.slice(1));
    expect(told.get('error')).toBe(error);
    expect(told.get('iss')).toBe(setting.origin);
  });

  const redirects = [
    'https://evil.example/callback',
    'http://127.0.0.1:7777/other',
    'http://127.0.0.1:7777/callback/',
    'http://127.0.0.1:7777/callback?x=1',
    'http://127.0.0.1:7777/callback#x',
    'http://localhost:7777/callback',
    'http://127.0.0.1.evil.example:7777/callback',
    'http://127.0.0.1:7777@evil.example/callback',
    'javascript:alert(1)',
    '//evil.example',
  ];
  it.each(redirects)(
    'is reported on a page without a redirect if the redirect is %s',
    verifies('hosting:auth:as:redirect-uri-binding'),
    async (redirect_uri) => {
      const setting = await Setting.launch();
      const client = await setting.register();
      const page = await setting.browser().go(setting.authorizeUrl(client, challenge(), { redirect_uri }));
      expect(page.status).toBe(400);
      expect(page.headers.get('content-type')).toContain('text/html');
      expect(page.text).toContain('invalid_redirect_uri');
    },
  );

  it('may name another port on loopback', verifies('hosting:auth:as:redirect-uri-binding'), async () => {
    // RFC 8252, 7.3.
    const setting = await Setting.launch();
    const client = await setting.register();
    const redirect_uri = 'http://127.0.0.1:50123/callback';
    const back = await setting.agree(setting.browser(), setting.authorizeUrl(client, challenge(), { redirect_uri }));
    expect(back.href).toContain(`${redirect_uri}?code=`);
  });
});

describe('a code', () => {
  async function coded() {
    const setting = await Setting.launch();
    const client = await setting.register();
    const proof = challenge();
    const back = await setting.agree(setting.browser(), setting.authorizeUrl(client, proof));
    return { setting, client, ...proof, code: back.searchParams.get('code') ?? '' };
  }
  const grant = { status: 400, error: 'invalid_grant' };
  const told = ({ status, json }: { status: number; json: { error?: string } }) => ({ status, error: json.error });

  it('needs the verifier', verifies('hosting:auth:as:verifier-mismatch'), async () => {
    const { setting, client, code } = await coded();
    expect(told(await setting.exchange(client, code, challenge().verifier))).toEqual(grant);
    expect(told(await setting.exchange(client, code, ''))).toEqual(grant);
  });

  it(
    'is valid once, and its tokens are revoked when it is replayed',
    verifies('hosting:auth:as:code-single-use'),
    async () => {
      const { setting, client, code, verifier } = await coded();
      const first = await setting.exchange(client, code, verifier);
      expect(first.status).toBe(200);
      expect(told(await setting.exchange(client, code, verifier))).toEqual(grant);
      expect(told(await setting.refresh(client, first.json.refresh_token))).toEqual(grant);
    },
  );

  it('is redeemed by one of several concurrent requests', verifies('hosting:auth:as:code-single-use'), async () => {
    const { setting, client, code, verifier } = await coded();
    const answers = await Promise.all(Array.from({ length: 8 }, () => setting.exchange(client, code, verifier)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    for (const answer of answers) if (answer.status !== 200) expect(told(answer)).toEqual(grant);
  });

  it('needs the redirect that it was sent to', verifies('hosting:auth:as:redirect-uri-binding'), async () => {
    // RFC 6749, 5.2.
    const { setting, client, code, verifier } = await coded();
    const redirect_uri = 'http://127.0.0.1:7778/callback';
    expect(told(await setting.exchange(client, code, verifier, { redirect_uri }))).toEqual(grant);
  });

  it('is of no use to another client', verifies('hosting:auth:as:code-single-use'), async () => {
    const { setting, code, verifier } = await coded();
    const other = await setting.register();
    expect(told(await setting.exchange(other, code, verifier))).toEqual(grant);
    expect(told(await setting.exchange({ ...other, client_id: 'nobody' }, code, verifier))).toEqual({
      status: 401,
      error: 'invalid_client',
    });
  });

  it('is of use to a confidential client only with its secret', verifies('gateway:authserver:flow'), async () => {
    const setting = await Setting.launch();
    const metadata = { token_endpoint_auth_method: 'client_secret_post', redirect_uris: ['https://app.example/cb'] };
    const client = await setting.register(metadata);
    const proof = challenge();
    const back = await setting.agree(setting.browser(), setting.authorizeUrl(client, proof));
    const code = back.searchParams.get('code') ?? '';
    const withSecret = (client_secret: string) => setting.exchange(client, code, proof.verifier, { client_secret });
    expect(told(await withSecret('guess'))).toEqual({ status: 401, error: 'invalid_client' });
    expect((await withSecret(client.client_secret ?? '')).status).toBe(200);
  });
});
