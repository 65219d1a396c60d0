/** Whatever comes: a named error, never a 5xx, never in. The seed is printed by fast-check. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { alone } from './browser.ts';
import { callback, challenge, Setting } from './setting.ts';

const runs = { numRuns: 60, interruptAfterTimeLimit: 20_000 };
const slow = { ...verifies('gateway:authserver:hostile'), timeout: 60_000 };

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), fc.string({ maxLength: 80 }));
const nasty = fc.constantFrom(
  '',
  ' ',
  '\0',
  '../..',
  '%00',
  '%',
  '\r\nset-cookie: a=b',
  '<script>',
  '"',
  "'",
  '\ud800',
  '__proto__',
  'constructor',
  'null',
  '[object Object]',
  'x'.repeat(3000),
  '{}',
  '[]',
  '-1',
  '1e999',
  'https://[',
  'http://127.0.0.1:7777/callback',
);
const value = fc.oneof(text, nasty);

const names = [
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'code_challenge',
  'code_challenge_method',
  'scope',
  'resource',
  'prompt',
  'nonce',
  'max_age',
  'login_hint',
  'id_token_hint',
  'response_mode',
  'request',
  'request_uri',
  'claims',
  'registration',
  'ui_locales',
  'acr_values',
  'dpop_jkt',
];

async function answerOf(url: string | URL, init: RequestInit = {}) {
  const response = await fetch(url, { redirect: 'manual', ...init, headers: { ...alone, ...init.headers } });
  return { status: response.status, location: response.headers.get('location'), text: await response.text() };
}

describe('any authorization request', () => {
  it('is answered by a page, or sent back to where the client is registered, and has no code', slow, async () => {
    const setting = await Setting.launch();
    const client = await setting.register();
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), value), fc.boolean(), async (changes, twice) => {
        const url = setting.authorizeUrl(client, challenge());
        for (const [name, one] of Object.entries(changes)) {
          if (twice) url.searchParams.append(name, one);
          else url.searchParams.set(name, one);
        }
        const { status, location } = await answerOf(url);
        expect(status).toBeLessThan(500);
        if (location === null) return;
        const target = new URL(location, setting.origin);
        expect([setting.origin, new URL(callback).origin]).toContain(target.origin);
        expect(target.searchParams.get('code')).toBeNull();
      }),
      runs,
    );
  });
});

describe('any token request', () => {
  it('gets no token', slow, async () => {
    const setting = await Setting.launch();
    const { client, refresh } = await setting.tokens();
    const grants = fc.oneof(
      fc.constantFrom('authorization_code', 'refresh_token', 'client_credentials', 'password'),
      value,
    );
    const body = fc.record(
      {
        grant_type: grants,
        client_id: fc.oneof(fc.constant(client.client_id), value),
        code: value,
        code_verifier: value,
        refresh_token: fc.oneof(value, fc.constant(refresh.slice(0, -1)), fc.constant(`${refresh} `)),
        redirect_uri: value,
        resource: value,
        scope: value,
        client_secret: value,
        client_assertion: value,
        client_assertion_type: fc.oneof(fc.constant('urn:ietf:params:oauth:client-assertion-type:jwt-bearer'), value),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(body, async (fields) => {
        const params = new URLSearchParams(
          Object.entries(fields).map(([name, one]): [string, string] => [name, one ?? '']),
        );
        const answer = await answerOf(`${setting.origin}/oauth/token`, { method: 'POST', body: params });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(answer.status).toBeLessThan(500);
        expect(JSON.parse(answer.text).error).toMatch(/^[a-z_]+$/);
        expect(answer.text).not.toContain('access_token');
      }),
      runs,
    );
    // And all of that did no harm.
    expect((await setting.refresh(client, refresh)).status).toBe(200);
  });
});

describe('any registration', () => {
  const anything = fc.oneof(value, fc.jsonValue(), fc.array(value, { maxLength: 4 }));
  const metadata = fc.dictionary(
    fc.constantFrom(
      'redirect_uris',
      'client_name',
      'client_uri',
      'logo_uri',
      'grant_types',
      'response_types',
      'scope',
      'contacts',
      'jwks',
      'jwks_uri',
      'token_endpoint_auth_method',
      'application_type',
      'client_id',
      'client_secret',
      'bascule',
      '__proto__',
      'sector_identifier_uri',
      'default_max_age',
      'subject_type',
      'id_token_signed_response_alg',
      'response_modes',
    ),
    anything,
  );
  it('is accepted with allowed redirects, or rejected by name', slow, async () => {
    const setting = await Setting.launch();
    await fc.assert(
      fc.asyncProperty(metadata, fc.boolean(), async (fields, isNearlyRight) => {
        const body = JSON.stringify(isNearlyRight ? { ...fields, redirect_uris: [callback] } : fields);
        const headers = { 'content-type': 'application/json' };
        const answer = await answerOf(`${setting.origin}/oauth/register`, { method: 'POST', body, headers });
        expect(answer.status, body).toBeLessThan(500);
        const told = JSON.parse(answer.text);
        if (answer.status !== 201) expect(told.error, body).toMatch(/^[a-z_]+$/);
        else {
          for (const uri of told.redirect_uris) {
            expect(uri).toMatch(
              /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/?]|http:\/\/(localhost|127\.0\.0\.1|\[::1\])$)/i,
            );
          }
        }
      }),
      { ...runs, numRuns: 55 },
    );
  });
});

describe('anything else', () => {
  it('gets a status below 500 and no access', slow, async () => {
    const setting = await Setting.launch();
    const paths = fc.constantFrom(
      '/oauth/authorize',
      '/oauth/authorize/x',
      '/oauth/token',
      '/oauth/register',
      '/oauth/register/x',
      '/oauth/revoke',
      '/oauth/jwks',
      '/oauth/interaction/x',
      '/oauth/interaction/%2e%2e',
      '/oauth/interaction/x/y',
      '/oauth/sign-in',
      '/oauth/sign-out',
      '/oauth/session/confirm',
      '/oauth/session',
      '/oauth/',
      '/oauth',
      '/oauth/callback',
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/mcp',
    );
    const methods = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH');
    const types = fc.constantFrom(
      'application/json',
      'application/x-www-form-urlencoded',
      'text/plain',
      'multipart/form-data',
    );
    const cookie = fc.constantFrom('', 'bascule_session=x', 'a', '=;=;', '__proto__=1', 'x'.repeat(4000));
    await fc.assert(
      fc.asyncProperty(paths, methods, types, value, value, cookie, async (path, method, type, query, body, jar) => {
        const answer = await answerOf(`${setting.origin}${path}?${new URLSearchParams({ q: query })}`, {
          method,
          headers: { 'content-type': type, ...(jar === '' ? {} : { cookie: jar }) },
          ...(['GET', 'HEAD'].includes(method) ? {} : { body }),
        });
        expect(answer.status, `${method} ${path}`).toBeLessThan(500);
        expect(answer.text).not.toContain('access_token"');
      }),
      { ...runs, numRuns: 150 },
    );
    expect(setting.gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
