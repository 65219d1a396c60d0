import { beforeAll, describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { identityLimits } from '../../src/identity/limits.ts';
import { TokenVerifiers } from '../../src/identity/tokens.ts';
import type { Verified } from '../../src/identity/verified.ts';
import { issuerSettings, issuerUrl, type Signer, sign, signer, TestIssuer } from './support.ts';

let first: Signer;
let second: Signer;
let stranger: Signer;
let rsa: Signer;

beforeAll(async () => {
  [first, second, stranger, rsa] = await Promise.all([
    signer('one'),
    signer('two'),
    signer('one'),
    signer('rsa', 'RS256'),
  ]);
});

function setUp(more = {}, signers = [first]) {
  const issuer = new TestIssuer(...signers);
  const tokens = new TokenVerifiers([issuerSettings(more)], issuer.outside, issuer.warn);
  return { issuer, tokens };
}

async function reasonOf(outcome: Verified | Failure | Promise<Verified | Failure>): Promise<string> {
  const settled = await outcome;
  return settled instanceof Failure ? `${settled.reason}: ${settled.message}` : settled.principal.key;
}

const alice = `["token","${issuerUrl}","alice"]`;

describe('a token', () => {
  test('gives a principal of issuer and subject, with scopes, claims and expiry', async () => {
    const { issuer, tokens } = setUp();
    const verified = await tokens.verify(await issuer.sign({ client_id: 'app', groups: { a: ['b'] } }));
    if (verified instanceof Failure) throw verified;
    const { principal } = verified;
    expect(principal).toMatchObject({
      key: alice,
      kind: 'token',
      issuer: issuerUrl,
      subject: 'alice',
      clientId: 'app',
      scopes: new Set(['mcp:read']),
      expiresAt: (issuer.time.seconds + 3600) * 1000 + 30_000,
    });
    expect(Object.isFrozen(principal.claims)).toBe(true);
    expect(Object.isFrozen((principal.claims.groups as { a: unknown }).a)).toBe(true);
  });

  const accepted: { name: string; claims?: object; header?: object; key?: string }[] = [
    { name: 'of the type JWT', header: { typ: 'JWT' } },
    { name: 'of a full media type', header: { typ: 'application/at+jwt' } },
    { name: 'of no type', header: { typ: undefined } },
    { name: 'that names no key', header: { kid: undefined } },
    { name: 'that expired a moment ago', claims: { exp: Date.UTC(2026, 6, 28) / 1000 - 29 } },
    { name: 'that begins in a moment', claims: { nbf: Date.UTC(2026, 6, 28) / 1000 + 29 } },
    {
      name: 'of a client that acts for itself',
      claims: { sub: undefined, client_id: 'app' },
      key: `["client","${issuerUrl}","app"]`,
    },
  ];
  test.each(accepted)('$name is accepted', async ({ claims, header, key }) => {
    const { issuer, tokens } = setUp();
    expect(await reasonOf(tokens.verify(await issuer.sign({ ...claims }, first, header)))).toBe(key ?? alice);
  });

  const scopes = [
    { name: 'text', claims: { scope: 'a b  c' }, held: ['a', 'b', 'c'] },
    { name: 'a list', claims: { scope: ['a', 1, 'b'] }, held: ['a', 'b'] },
    { name: '`scp`', claims: { scope: undefined, scp: ['a'] }, held: ['a'] },
    { name: 'nothing', claims: { scope: undefined }, held: [] },
    { name: 'nonsense', claims: { scope: { a: 1 } }, held: [] },
  ];
  test.each(scopes)('has its scopes as $name', async ({ claims, held }) => {
    const { issuer, tokens } = setUp();
    const verified = await tokens.verify(await issuer.sign(claims));
    if (verified instanceof Failure) throw verified;
    expect(verified.principal.scopes).toEqual(new Set(held));
  });

  const refused: { name: string; claims?: object; header?: object; by?: () => Signer; reason: string }[] = [
    { name: 'that expired', claims: { exp: 1 }, reason: 'token_expired: The token has expired' },
    { name: 'without expiry', claims: { exp: undefined }, reason: 'token_invalid: The token has no expiry' },
    {
      name: 'with an expiry that is no number',
      claims: { exp: '9999999999' },
      reason: 'token_invalid: The token has no expiry',
    },
    {
      name: 'that is not valid yet',
      claims: { nbf: 99_999_999_999 },
      reason: 'token_invalid: The token is not valid yet',
    },
    {
      name: 'of another issuer',
      claims: { iss: 'https://evil.example' },
      reason: 'token_invalid: The issuer of the token is not configured',
    },
    {
      name: 'of an issuer in another spelling',
      claims: { iss: `${issuerUrl}/` },
      reason: 'token_invalid: The issuer of the token is not configured',
    },
    { name: 'of no issuer', claims: { iss: undefined }, reason: 'token_invalid: The token is malformed' },
    { name: 'without a subject', claims: { sub: undefined }, reason: 'token_invalid: The token has no subject' },
    { name: 'of an empty subject', claims: { sub: '' }, reason: 'token_invalid: The token has no subject' },
    { name: 'of a subject that is no text', claims: { sub: 7 }, reason: 'token_invalid: The token has no subject' },
    { name: 'of another type', header: { typ: 'logout+jwt' }, reason: 'token_invalid: The token is of another type' },
    {
      name: 'bound to a key',
      claims: { cnf: { jkt: 'x' } },
      reason: 'token_invalid: The token is bound to a key, which the gateway cannot check',
    },
    {
      name: 'with an extension that must be understood',
      header: { crit: ['x'], x: 1 },
      reason: 'token_invalid: The token is malformed',
    },
    {
      name: 'signed by another key under a known key id',
      by: () => stranger,
      reason: 'token_invalid: The signature is not valid',
    },
    {
      name: 'signed by an unknown key',
      by: () => second,
      reason: 'token_invalid: The token is signed by an unknown key',
    },
  ];
  test.each(refused)('$name is refused', async ({ claims, header, by, reason }) => {
    const { issuer, tokens } = setUp();
    const signedBy = by?.() ?? first;
    const token = await sign(signedBy, issuer.claims({ ...claims }), header).catch(() =>
      forged(issuer.claims(), header),
    );
    expect(await reasonOf(tokens.verify(token))).toBe(reason);
  });

  test.each([{ alg: 'none' }, { alg: 'HS256' }, { alg: 'RS256' }, { alg: 7 }, {}])(
    'with a false header $alg is refused',
    async (header) => {
      const { issuer, tokens } = setUp({ algorithms: ['ES256'] });
      expect(await reasonOf(tokens.verify(forged(issuer.claims(), { kid: 'one', ...header })))).toMatch(
        /^token_invalid/,
      );
    },
  );

  test('signed by an algorithm that the issuer does not use is refused', async () => {
    const { issuer, tokens } = setUp({ algorithms: ['ES256'] }, [first, rsa]);
    expect(await reasonOf(tokens.verify(await issuer.sign({}, rsa)))).toBe(
      'token_invalid: The algorithm of the signature is not allowed',
    );
  });

  test('without a key id is tried with the keys that fit', async () => {
    const { issuer, tokens } = setUp({}, [first, second]);
    expect(await reasonOf(tokens.verify(await issuer.sign({}, second, { kid: undefined })))).toBe(alice);
    expect(await reasonOf(tokens.verify(await issuer.sign({}, stranger, { kid: undefined })))).toBe(
      'token_invalid: The signature is not valid',
    );
  });
});

/** A token that no library would make. */
function forged(claims: object, header: object = {}): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'ES256', kid: 'one', ...header })}.${part(claims)}.${Buffer.alloc(64).toString('base64url')}`;
}

describe('the cache of verified tokens', () => {
  test('answers immediately, for as long as the limit says', async () => {
    const { issuer, tokens } = setUp();
    const token = await issuer.sign();
    const verified = await tokens.verify(token);
    expect(tokens.verify(token)).toBe(verified);
    issuer.time.move(identityLimits.verifiedMs - 1);
    expect(tokens.verify(token)).toBe(verified);
    issuer.time.move(1);
    expect(tokens.verify(token)).toBeInstanceOf(Promise);
  });

  test('ends with the token', async () => {
    const { issuer, tokens } = setUp();
    const token = await issuer.sign({ exp: issuer.time.seconds + 10 });
    const verified = await tokens.verify(token);
    if (verified instanceof Failure) throw verified;
    issuer.time.move(39_999);
    expect(tokens.verify(token)).toBe(verified);
    expect(tokens.stillGood(verified.principal)).toBe(true);
    issuer.time.move(1);
    expect(tokens.stillGood(verified.principal)).toBe(false);
    expect(await reasonOf(tokens.verify(token))).toBe('token_expired: The token has expired');
  });

  test('is kept briefly where it was bad', async () => {
    const { issuer, tokens } = setUp();
    const token = await issuer.sign({ exp: 1 });
    const failure = await tokens.verify(token);
    expect(tokens.verify(token)).toBe(failure);
    issuer.time.move(identityLimits.refusedMs);
    expect(tokens.verify(token)).toBeInstanceOf(Promise);
  });

  test('verifies a token once for many concurrent requests', async () => {
    const { issuer, tokens } = setUp();
    const token = await issuer.sign();
    const outcomes = await Promise.all([tokens.verify(token), tokens.verify(token), tokens.verify(token)]);
    expect(new Set(outcomes).size).toBe(1);
    expect(issuer.keyFetches).toBe(1);
  });

  test('is not lost to garbage', async () => {
    const { issuer, tokens } = setUp();
    const token = await issuer.sign();
    const verified = await tokens.verify(token);
    await Promise.all(Array.from({ length: 1100 }, (_, n) => tokens.verify(`${forged(issuer.claims())}${n}`)));
    expect(tokens.verify(token)).toBe(verified);
  });
});

describe('the keys of an issuer', () => {
  test('are fetched again when a new one signs, at most once in a while', async () => {
    const { issuer, tokens } = setUp();
    await tokens.verify(await issuer.sign());
    issuer.signers = [first, second];
    const fromTheSecond = () => issuer.sign({ jti: Math.random() }, second);
    for (let n = 0; n < 5; n += 1) expect(await reasonOf(tokens.verify(await fromTheSecond()))).toMatch('unknown key');
    expect(issuer.keyFetches).toBe(1);
    issuer.time.move(identityLimits.unknownKidMs);
    expect(await reasonOf(tokens.verify(await fromTheSecond()))).toBe(alice);
    expect(issuer.keyFetches).toBe(2);
  });

  test('are forgotten with their edition: a withdrawn key verifies nothing', async () => {
    const { issuer, tokens } = setUp({}, [first, second]);
    await tokens.verify(await issuer.sign());
    issuer.signers = [second];
    issuer.time.move(identityLimits.issuerKeysMs);
    expect(await reasonOf(tokens.verify(await issuer.sign({ jti: 1 }, first)))).toMatch('unknown key');
  });

  test('serve through an outage, but not for ever', async () => {
    const { issuer, tokens } = setUp();
    await tokens.verify(await issuer.sign());
    issuer.net.serve(`${issuerUrl}/jwks`, new Error('down'));
    issuer.time.move(identityLimits.issuerKeysMs);
    expect(await reasonOf(tokens.verify(await issuer.sign({ jti: 1 })))).toBe(alice);
    issuer.time.move(identityLimits.issuerOutageMs);
    expect(await reasonOf(tokens.verify(await issuer.sign({ jti: 2 })))).toMatch(/^issuer_unavailable/);
    issuer.net.serve(`${issuerUrl}/jwks`, () => ({ keys: [first.jwk] }));
    issuer.time.move(identityLimits.issuerRetryMs);
    expect(await reasonOf(tokens.verify(await issuer.sign({ jti: 3 })))).toBe(alice);
  });

  test('that are unavailable are not fetched for every token', async () => {
    const { issuer, tokens } = setUp();
    issuer.net.serve(`${issuerUrl}/jwks`, 503);
    for (let jti = 0; jti < 5; jti += 1) {
      expect(await reasonOf(tokens.verify(await issuer.sign({ jti })))).toMatch(/^issuer_unavailable/);
    }
    expect(issuer.keyFetches).toBe(1);
    expect(issuer.warnings).toHaveLength(1);
  });

  test('are fetched again when the clock was set back', async () => {
    const { issuer, tokens } = setUp();
    await tokens.verify(await issuer.sign());
    issuer.time.move(-3_600_000);
    expect(await reasonOf(tokens.verify(await issuer.sign()))).toBe(alice);
    expect(issuer.keyFetches).toBe(2);
  });

  const unusable = [
    { name: 'no set', page: { keys: 'x' } },
    { name: 'no JSON', page: '<html>' },
    { name: 'an endless document', page: ' '.repeat(300 * 1024) },
    { name: 'a list', page: [] },
  ];
  test.each(unusable)('that are $name are not used', async ({ page }) => {
    const { issuer, tokens } = setUp();
    issuer.net.serve(`${issuerUrl}/jwks`, page);
    expect(await reasonOf(tokens.verify(await issuer.sign()))).toMatch(/^issuer_unavailable/);
  });
});
