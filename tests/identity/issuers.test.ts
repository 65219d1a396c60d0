import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { fetchDocument, isSafeAddress } from '../../src/identity/documents.ts';
import { discoverJwksUri } from '../../src/identity/jwks.ts';
import { identityLimits } from '../../src/identity/limits.ts';
import { TokenVerifiers } from '../../src/identity/tokens.ts';
import type { Verified } from '../../src/identity/verified.ts';
import { metadataAddresses } from '../../src/oauth/well-known.ts';
import { issuerSettings, issuerUrl, resource, signer, TestIssuer, TestNet, TestTime } from './support.ts';

describe('an issuer is looked up', () => {
  test.each([
    {
      issuer: 'https://as.example',
      addresses: [
        'https://as.example/.well-known/oauth-authorization-server',
        'https://as.example/.well-known/openid-configuration',
      ],
    },
    {
      issuer: 'https://as.example/tenant/',
      addresses: [
        'https://as.example/.well-known/oauth-authorization-server/tenant',
        'https://as.example/.well-known/openid-configuration/tenant',
        'https://as.example/tenant/.well-known/openid-configuration',
      ],
    },
  ])('$issuer', ({ issuer, addresses }) => expect(metadataAddresses(issuer)).toEqual(addresses));

  const good = { issuer: 'https://as.example/t', jwks_uri: 'https://keys.example/jwks' };
  const documents = [
    { name: 'at the first place', pages: [good], found: good.jwks_uri },
    { name: 'at the last place', pages: [404, 404, good], found: good.jwks_uri },
    {
      name: 'behind one that names another issuer',
      pages: [{ ...good, issuer: 'https://as.example' }, good],
      found: good.jwks_uri,
    },
    { name: 'nowhere', pages: [], found: 'IssuerError: status 404' },
    {
      name: 'under another name',
      pages: [404, 404, { ...good, issuer: 'https://as.example/t/' }],
      found: 'IssuerError: the metadata names another issuer',
    },
    {
      name: 'without keys',
      pages: [404, 404, { issuer: good.issuer }],
      found: 'IssuerError: the metadata has no jwks_uri',
    },
    {
      name: 'with keys over plain http',
      pages: [404, 404, { ...good, jwks_uri: 'http://keys.example/jwks' }],
      found: 'IssuerError: the keys are at an address that is not safe',
    },
    {
      name: 'with keys in a file',
      pages: [404, 404, { ...good, jwks_uri: 'file:///etc/passwd' }],
      found: 'IssuerError: the keys are at an address that is not safe',
    },
  ];
  test.each(documents)('and found $name', async ({ pages, found }) => {
    const net = new TestNet();
    metadataAddresses(good.issuer).forEach((address, at) => {
      net.serve(address, pages[at] ?? 404);
    });
    const outcome = discoverJwksUri(good.issuer, { fetch: net.fetch, time: new TestTime() });
    expect(await outcome.catch(String)).toBe(found);
  });
});

test.each([
  { address: 'https://x.example', safe: true },
  { address: 'http://localhost:1', safe: true },
  { address: 'http://127.0.0.1', safe: true },
  { address: 'http://[::1]/x', safe: true },
  { address: 'http://x.example', safe: false },
  { address: 'http://127.0.0.1.x.example', safe: false },
  { address: 'http://localhost.x.example', safe: false },
  { address: 'https://a:b@x.example', safe: false },
  { address: 'data:application/json,{}', safe: false },
  { address: 'https://x.example:99999', safe: false },
  { address: '', safe: false },
])('$address is safe: $safe', ({ address, safe }) => expect(isSafeAddress(address)).toBe(safe));

describe('a document over a real connection', () => {
  async function fetchFrom(listener: RequestListener, time = new TestTime(), meanwhile?: () => Promise<void>) {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/doc`;
      const document = fetchDocument(url, { fetch, time }).catch(String);
      await meanwhile?.();
      const result = await document;
      expect(time.waits).toBe(0);
      return result;
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  test('is read', async () => {
    expect(await fetchFrom((_, res) => res.end('{"a":1}'))).toEqual({ a: 1 });
  });

  test('is not waited for longer than the limit', async () => {
    const time = new TestTime();
    let asked: () => void;
    const arrived = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const listener: RequestListener = (_, res) => {
      res.write('{');
      asked();
    };
    const late = async () => {
      await arrived;
      time.move(identityLimits.issuerMs);
    };
    expect(await fetchFrom(listener, time, late)).toBe('IssuerError: no response in time');
  });

  test('is not read beyond the limit', async () => {
    const listener: RequestListener = (_, res) => {
      const more = () => {
        while (!res.destroyed && res.write(' '.repeat(65_536)));
      };
      res.on('drain', more);
      more();
    };
    expect(await fetchFrom(listener)).toBe('IssuerError: the document is too large');
  });

  test('is not looked for elsewhere', async () => {
    const listener: RequestListener = (req, res) => {
      if (req.url === '/doc') res.writeHead(302, { location: '/other' }).end();
      else res.end('{}');
    };
    expect(await fetchFrom(listener)).toBe('IssuerError: no connection');
  });

  test('is not fetched over plain http', async () => {
    const net = new TestNet();
    const outcome = fetchDocument('http://x.example/', { fetch: net.fetch, time: new TestTime() });
    await expect(outcome).rejects.toThrow('neither https');
    expect(net.asked).toEqual([]);
  });
});

describe('an opaque token', () => {
  const url = `${issuerUrl}/introspect`;
  const introspection = { url, clientId: 'gate way', clientSecret: 's:cret' };

  async function setUp(answer: unknown, more = {}) {
    const issuer = new TestIssuer(await signer('one'));
    issuer.net.serve(url, answer);
    const tokens = new TokenVerifiers([issuerSettings({ introspection, ...more })], issuer.outside, issuer.warn);
    return { issuer, tokens };
  }
  const reasonOf = (outcome: Verified | Failure) =>
    outcome instanceof Failure ? `${outcome.reason}: ${outcome.message}` : outcome.principal.key;
  const active = { active: true, sub: 'alice', aud: resource, scope: 'a b', exp: Date.UTC(2027, 0) / 1000 };

  test('is introspected with our own credentials', async () => {
    const { issuer, tokens } = await setUp(active);
    const verified = await tokens.verify('opaque');
    if (verified instanceof Failure) throw verified;
    expect(verified.principal).toMatchObject({ subject: 'alice', issuer: issuerUrl, scopes: new Set(['a', 'b']) });
    const [request] = issuer.net.requests;
    expect(request).toMatchObject({ method: 'POST', body: 'token=opaque&token_type_hint=access_token' });
    expect(request?.headers.authorization).toBe(`Basic ${Buffer.from('gate%20way:s%3Acret').toString('base64')}`);
  });

  test.each([
    { name: 'is not active', answer: { active: false }, reason: 'token_invalid: The token is not active' },
    {
      name: 'is active in another spelling',
      answer: { ...active, active: 'true' },
      reason: 'token_invalid: The token is not active',
    },
    {
      name: 'is of another issuer',
      answer: { ...active, iss: 'https://x.example' },
      reason: 'token_invalid: The issuer of the token is not configured',
    },
    { name: 'has expired all the same', answer: { ...active, exp: 1 }, reason: 'token_expired: The token has expired' },
    {
      name: 'has no readable expiry',
      answer: { ...active, exp: 'soon' },
      reason: 'token_invalid: The token is malformed',
    },
    {
      name: 'is not valid yet',
      answer: { ...active, nbf: 99_999_999_999 },
      reason: 'token_invalid: The token is not valid yet',
    },
    {
      name: 'is bound to a key',
      answer: { ...active, cnf: {} },
      reason: 'token_invalid: The token is bound to a key, which the gateway cannot check',
    },
    { name: 'has no subject', answer: { active: true }, reason: 'token_invalid: The token has no subject' },
    {
      name: 'cannot be introspected',
      answer: 500,
      reason: 'issuer_unavailable: The token cannot be checked at the moment',
    },
    {
      name: 'gets an invalid answer',
      answer: '[]',
      reason: 'issuer_unavailable: The token cannot be checked at the moment',
    },
  ])('and $name is refused', async ({ answer, reason }) => {
    const { tokens } = await setUp(answer);
    expect(reasonOf(await tokens.verify('opaque'))).toBe(reason);
  });

  test('is introspected again while it is in use, and ends when it was revoked', async () => {
    let answer: unknown = { active: true, sub: 'alice' };
    const { issuer, tokens } = await setUp(() => answer);
    const verified = await tokens.verify('opaque');
    if (verified instanceof Failure) throw verified;
    answer = 500;
    issuer.time.move(identityLimits.introspectedMs);
    expect(tokens.stillGood(verified.principal)).toBe(true);
    await tokens.verify('opaque');
    // An outage is no answer.
    expect(tokens.stillGood(verified.principal)).toBe(true);
    await tokens.verify('opaque');
    answer = { active: false };
    expect(tokens.stillGood(verified.principal)).toBe(true);
    await tokens.verify('opaque');
    expect(tokens.stillGood(verified.principal)).toBe(false);
  });

  test('is not sent to an issuer that it does not name', async () => {
    const { issuer, tokens } = await setUp(active);
    expect(reasonOf(await tokens.verify(await issuer.sign({ iss: 'https://x.example' })))).toMatch('not configured');
    expect(issuer.net.asked).toEqual([]);
  });

  test('does not become a flood', async () => {
    let release: (answer: unknown) => void = () => undefined;
    const held = new Promise((resolve) => {
      release = resolve;
    });
    const { issuer, tokens } = await setUp(() => held);
    const outcomes = Array.from({ length: identityLimits.introspections + 10 }, (_, n) => tokens.verify(`opaque${n}`));
    release(active);
    const reasons = (await Promise.all(outcomes)).map(reasonOf);
    expect(reasons.filter((reason) => reason.startsWith('issuer_unavailable'))).toHaveLength(10);
    expect(issuer.net.asked).toHaveLength(identityLimits.introspections);
  });
});
