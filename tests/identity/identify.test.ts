import { randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { type Identified, Identity } from '../../src/identity/identify.ts';
import { addKey } from '../../src/identity/key-book.ts';
import { writeKeyFile } from '../../src/identity/key-file.ts';
import { Keys } from '../../src/identity/keys.ts';
import { identityLimits } from '../../src/identity/limits.ts';
import { TokenVerifiers } from '../../src/identity/tokens.ts';
import { bearer, carrying, guarded, issuerSettings, issuerUrl, type Signer, signer, TestIssuer } from './support.ts';

let by: Signer;
let issuer: TestIssuer;
let identity: Identity;
let key: string;
/** What the key file says, and how often it changed. */
let keyFile: { text: string; changes: number };

beforeAll(async () => {
  by = await signer('one');
});
beforeEach(() => {
  issuer = new TestIssuer(by);
  const { time, outside, warn } = issuer;
  const made = addKey(undefined, { name: 'bob', scopes: [] }, { bytes: randomBytes, now: () => time.now() });
  key = made.key;
  keyFile = { text: writeKeyFile(made.file), changes: 0 };
  const file = { stamp: () => String(keyFile.changes), read: () => keyFile.text };
  const keys = new Keys({ file, time, warn });
  keys.watch();
  const opaque = issuerSettings({
    issuer: 'https://opaque.example',
    audienceCheckedByVerifier: true,
    introspection: { url: `${issuerUrl}/introspect`, clientId: 'c', clientSecret: 's' },
  });
  issuer.net.serve(`${issuerUrl}/introspect`, { active: true, sub: 'carol' });
  identity = new Identity({ keys, tokens: new TokenVerifiers([issuerSettings(), opaque], outside, warn) });
});

const alice = `["token","${issuerUrl}","alice"]`;
const bob = '["key","bob"]';
const both = guarded({ keyHeader: 'x-access-key', keyQuery: 'key' });
const keysOnly = guarded({ tokens: false });
const tokensOnly = guarded({ keys: false, keyHeader: 'x-access-key' });

async function who(outcome: Identified): Promise<string> {
  const settled = await outcome;
  return settled instanceof Failure ? settled.reason : settled.key;
}

describe('the caller', () => {
  test('is the local principal at an open endpoint, whatever it presents', () => {
    expect(identity.identify(bearer('garbage'), { kind: 'open' })).toMatchObject({ key: 'local', scopes: 'all' });
  });

  test('is the principal of the key, immediately, in every place that the endpoint accepts', () => {
    for (const carrier of [bearer(key), carrying([['X-Access-Key', key]]), carrying([], `/mcp?key=${key}`)]) {
      expect(identity.identify(carrier, both)).toMatchObject({ key: bob });
    }
  });

  test('is the principal of the token: asynchronously at first, then immediately', async () => {
    const carrier = bearer(await issuer.sign());
    expect(identity.identify(carrier, both)).toBeInstanceOf(Promise);
    expect(await who(identity.identify(carrier, both))).toBe(alice);
    expect(identity.identify(carrier, both)).toMatchObject({ key: alice });
  });

  test('is the same with a refreshed token', async () => {
    const [old, young] = [await issuer.sign({ jti: 1 }), await issuer.sign({ jti: 2 })];
    expect(await who(identity.identify(bearer(old), both))).toBe(await who(identity.identify(bearer(young), both)));
  });

  test('is decided by each endpoint for itself, also about a token that is known', async () => {
    const carrier = bearer(await issuer.sign());
    await identity.identify(carrier, both);
    const elsewhere = { ...both, ours: new Set(['https://mcp.example/other']) };
    expect(await who(identity.identify(carrier, elsewhere))).toBe('audience_mismatch');
    expect(await who(identity.identify(carrier, both))).toBe(alice);
  });

  test('is not identified by credentials that the endpoint does not accept', async () => {
    const token = await issuer.sign();
    expect(await who(identity.identify(bearer(token), keysOnly))).toBe('key_unknown');
    expect(await who(identity.identify(bearer(key), tokensOnly))).toBe('key_unknown');
    expect(await who(identity.identify(carrying([['x-access-key', token]]), both))).toBe('key_unknown');
    expect(await who(identity.identify(carrying([], `/mcp?key=${token}`), both))).toBe('key_unknown');
    expect(await who(identity.identify(carrying([], `/mcp?access_token=${token}`), both))).toBe('credentials_missing');
    expect(issuer.net.asked).toEqual([]);
  });

  test('a key, or text that looks like one, is sent to no issuer', async () => {
    for (const text of [key, 'bsc_nonsense']) await identity.identify(bearer(text), tokensOnly);
    expect(issuer.net.asked).toEqual([]);
    expect(await who(identity.identify(bearer('opaque'), tokensOnly))).toBe(
      '["token","https://opaque.example","carol"]',
    );
  });

  const audiences = [
    { aud: undefined, reason: 'audience_missing' },
    { aud: [], reason: 'audience_missing' },
    { aud: 'https://mcp.example:99999/mcp', reason: 'audience_mismatch' },
    { aud: 'https://mcp.example/mcp/child', reason: 'audience_mismatch' },
    { aud: 'https://mcp.example/sse', reason: alice },
  ];
  test.each(audiences)('with the audience $aud: $reason', async ({ aud, reason }) => {
    expect(await who(identity.identify(bearer(await issuer.sign({ aud })), both))).toBe(reason);
  });

  test('stays identified only while the credentials are valid', async () => {
    const token = await identity.identify(bearer(await issuer.sign({ exp: issuer.time.seconds + 60 })), both);
    const withKey = await identity.identify(bearer(key), both);
    const open = await identity.identify(bearer('x'), { kind: 'open' });
    for (const principal of [token, withKey, open]) {
      if (principal instanceof Failure) throw principal;
      expect(identity.stillGood(principal)).toBe(true);
      // Nobody vouches for what another gateway let in.
      expect(new Identity({}).stillGood(principal)).toBe(principal === open);
    }
    issuer.time.move(90_000);
    if (token instanceof Failure) throw token;
    expect(identity.stillGood(token)).toBe(false);
  });
});

describe('a connection that presents the same header again', () => {
  const socket = {};
  const on = (text: string, more: readonly (readonly [string, string])[] = []) => ({
    ...carrying([['Authorization', `Bearer ${text}`], ...more]),
    socket,
  });

  test('is refused as soon as its key is revoked', () => {
    for (let round = 0; round < 3; round += 1) expect(identity.identify(on(key), both)).toMatchObject({ key: bob });
    const other = addKey(undefined, { name: 'eve', scopes: [] }, { bytes: randomBytes, now: () => issuer.time.now() });
    keyFile = { text: writeKeyFile(other.file), changes: 1 };
    issuer.time.move(identityLimits.keyFileMs);
    expect(identity.identify(on(key), both)).toMatchObject({ reason: 'key_unknown' });
    expect(identity.identify(on(other.key), both)).toMatchObject({ key: '["key","eve"]' });
  });

  test('is refused as soon as its token expires', async () => {
    const token = await issuer.sign();
    for (let round = 0; round < 3; round += 1) expect(await who(identity.identify(on(token), both))).toBe(alice);
    issuer.time.move(3600 * 1000 + 30_000);
    expect(await who(identity.identify(on(token), both))).toBe('token_expired');
  });

  test('is identified by what it presents now', async () => {
    const token = await issuer.sign();
    for (let round = 0; round < 3; round += 1) {
      expect(await who(identity.identify(on(token), both))).toBe(alice);
      expect(await who(identity.identify(on(key), both))).toBe(bob);
      expect(await who(identity.identify({ ...carrying([]), socket }, both))).toBe('credentials_missing');
      expect(await who(identity.identify(on(key, [['X-Access-Key', key]]), both))).toBe('credentials_ambiguous');
      expect(await who(identity.identify(on(key, [['authorization', `Bearer ${key}`]]), both))).toBe(
        'credentials_ambiguous',
      );
      expect(await who(identity.identify(on(key), tokensOnly))).toBe('key_unknown');
    }
  });
});
