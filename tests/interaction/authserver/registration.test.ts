/** Who may register as what. RFC 7591; the rule for redirects is MCP's. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Setting } from './setting.ts';

const good = [
  'https://app.example/callback',
  'https://app.example:8443/a?b=c',
  'http://localhost/callback',
  'http://localhost:1/callback?x=y',
  'http://127.0.0.1:65535/',
  'http://[::1]:7777/callback',
];

const bad = [
  'http://app.example/callback',
  'http://localhost.evil.example/',
  'http://127.0.0.2/callback',
  'http://127.1/callback',
  'http://0x7f000001/callback',
  'http://2130706433/callback',
  'http://0.0.0.0/callback',
  'http://[::]/callback',
  'http://[::ffff:127.0.0.1]/callback',
  'http://localhost@evil.example/',
  'https://user:pass@app.example/',
  'https://app.example/callback#fragment',
  'https://app.example/callback#',
  'com.example.app:/callback',
  'cursor://anysphere/callback',
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'urn:ietf:wg:oauth:2.0:oob',
  '/callback',
  '//app.example/callback',
  'https://',
  'https:/app.example',
  'https:\\\\app.example\\callback',
  'https://app.example/\tcallback',
  ' https://app.example/callback',
  'https://app.example:99999/',
  '',
];

describe('a registration', () => {
  it('takes https, and http on this machine', verifies('hosting:auth:as:redirect-uri-scheme'), async () => {
    const setting = await Setting.launch();
    for (const uri of good) {
      const { status, json } = await setting.post('/oauth/register', { redirect_uris: [uri] });
      expect({ uri, status, redirects: json.redirect_uris }).toEqual({ uri, status: 201, redirects: [uri] });
    }
  });

  it('refuses all other redirects', verifies('hosting:auth:as:redirect-uri-scheme'), async () => {
    const setting = await Setting.launch();
    for (const uri of bad) {
      const { status, json } = await setting.post('/oauth/register', { redirect_uris: [good[0], uri] });
      expect({ uri, status, error: json.error }).toEqual({ uri, status: 400, error: 'invalid_client_metadata' });
      expect(json.error_description).toBeTypeOf('string');
    }
  });

  it('is repeated in the answer', verifies('hosting:auth:as:register-echo'), async () => {
    const setting = await Setting.launch();
    const wanted = {
      client_name: 'Example',
      client_uri: 'https://app.example',
      redirect_uris: ['https://app.example/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
    const { status, headers, json } = await setting.post('/oauth/register', wanted);
    expect(status).toBe(201);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(json).toMatchObject({ ...wanted, client_id: expect.any(String), client_id_issued_at: expect.any(Number) });
    expect(json).not.toHaveProperty('client_secret');
  });

  it('has a secret where the client keeps one', verifies('hosting:auth:as:register-echo'), async () => {
    const setting = await Setting.launch();
    const { json } = await setting.post('/oauth/register', { redirect_uris: [good[0]] });
    expect(json).toMatchObject({ client_secret: expect.any(String), client_secret_expires_at: 0 });
  });

  const faulty = [
    { name: 'no redirects', body: {} },
    { name: 'an empty list of redirects', body: { redirect_uris: [] } },
    { name: 'redirects that are no list', body: { redirect_uris: good[0] } },
    {
      name: 'too many redirects',
      body: { redirect_uris: Array.from({ length: 17 }, (_, at) => `https://a.example/${at}`) },
    },
    { name: 'a number for a name', body: { redirect_uris: [good[0]], client_name: 7 } },
    { name: 'a name as long as a book', body: { redirect_uris: [good[0]], client_name: 'x'.repeat(201) } },
    { name: 'an unknown way to authenticate', body: { redirect_uris: [good[0]], token_endpoint_auth_method: 'magic' } },
    { name: 'a symmetric key', body: { redirect_uris: [good[0]], jwks: { keys: [{ kty: 'oct', k: 'x' }] } } },
    { name: 'an implicit grant alone', body: { redirect_uris: [good[0]], response_types: ['token'] } },
  ];
  it.each(faulty)('with $name is rejected by name', verifies('hosting:auth:as:register-error-response'), async (it) => {
    const setting = await Setting.launch();
    const { status, json } = await setting.post('/oauth/register', it.body);
    expect({ status, error: json.error }).toEqual({ status: 400, error: 'invalid_client_metadata' });
  });

  it.each([
    { name: 'no JSON', body: '{' },
    { name: 'a list', body: '[]' },
    { name: 'null', body: 'null' },
  ])('that is $name is rejected by name', verifies('hosting:auth:as:register-error-response'), async ({ body }) => {
    const setting = await Setting.launch();
    const { status, json } = await setting.post('/oauth/register', body);
    expect({ status, error: json.error }).toEqual({ status: 400, error: 'invalid_request' });
  });

  it('is bounded in size', verifies('gateway:authserver:bounded'), async () => {
    const setting = await Setting.launch();
    const { status } = await setting.post('/oauth/register', { redirect_uris: [good[0]], x: 'x'.repeat(20_000) });
    expect(status).toBe(413);
  });

  it('is bounded in number for one address', verifies('gateway:authserver:bounded'), async () => {
    const setting = await Setting.launch();
    const statuses: number[] = [];
    for (let at = 0; at < 61; at += 1) {
      statuses.push((await setting.post('/oauth/register', { redirect_uris: [good[0]] })).status);
    }
    expect(statuses.slice(0, 60).every((status) => status === 201)).toBe(true);
    const last = await setting.post('/oauth/register', { redirect_uris: [good[0]] });
    expect(last.status).toBe(429);
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(last.json.error).toBe('too_many_requests');
  });
});
