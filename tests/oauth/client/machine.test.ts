/** Grants for which nobody has to be asked. */
import { generateKeyPairSync } from 'node:crypto';
import { importSPKI, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BackendAuth } from '../../../src/oauth/client/settings.ts';
import { verifies } from '../../requirements/verifies.ts';
import { alice, bob, failureOf, TestIssuer, World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

const robot = { grant: 'client_credentials', clientId: 'robot' } as const;

describe('client credentials', () => {
  it('by a secret', verifies('client-auth:client-credentials'), async () => {
    const credentials = world.start({ ...robot, clientSecret: 'hush: now' });
    const presenter = credentials.credentialProviderFor('files', alice);
    await presenter?.refused(world.refusal({}));
    expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
    const [asked] = world.issuer.tokenRequests('client_credentials');
    // RFC 6749, 2.3.1: in the form's own encoding.
    expect(asked?.headers.authorization).toBe(`Basic ${Buffer.from('robot:hush%3A+now').toString('base64')}`);
    expect(asked?.form.get('resource')).toBe(world.backend.url);
    expect(world.issuer.site.asked('/register')).toEqual([]);
  });

  const keys = [
    { alg: 'ES256', pair: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), offered: ['ES256'] },
    { alg: 'RS256', pair: () => generateKeyPairSync('rsa', { modulusLength: 2048 }), offered: undefined },
    { alg: 'PS256', pair: () => generateKeyPairSync('rsa', { modulusLength: 2048 }), offered: ['PS256', 'ES256'] },
    { alg: 'Ed25519', pair: () => generateKeyPairSync('ed25519'), offered: undefined },
  ];
  it.each(keys)(
    'by a key, signed with $alg for the issuer',
    verifies('client-auth:private-key-jwt'),
    async ({ alg, pair, offered }) => {
      const { privateKey, publicKey } = pair();
      if (offered !== undefined) world.issuer.metadata = { token_endpoint_auth_signing_alg_values_supported: offered };
      const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
      await world
        .start({ ...robot, privateKey: pem })
        .credentialProviderFor('files', alice)
        ?.refused(world.refusal({}));
      const assertion = world.issuer.tokenRequests('client_credentials')[0]?.form.get('client_assertion') ?? '';
      const key = await importSPKI(publicKey.export({ format: 'pem', type: 'spki' }).toString(), alg);
      const { payload, protectedHeader } = await jwtVerify(assertion, key, { audience: world.issuer.issuer });
      expect(payload).toMatchObject({ iss: 'robot', sub: 'robot' });
      expect(protectedHeader.alg).toBe(alg);
    },
  );

  it('are fetched anew when they end, once for all that wait', async () => {
    world.issuer.givesRefreshTokens = false;
    const presenter = world.start({ ...robot, clientSecret: 'hush' }).credentialProviderFor('files', alice);
    await presenter?.refused(world.refusal({}));
    world.time.move(3_600_000);
    expect(await presenter?.headers()).toEqual({});
    await Promise.all(Array.from({ length: 100 }, () => presenter?.refused(world.refusal({}))));
    expect(world.issuer.tokenRequests('client_credentials')).toHaveLength(2);
  });

  it('that are shared are one for all principals', async () => {
    const credentials = world.start({ ...robot, clientSecret: 'hush', shared: true });
    await credentials.credentialProviderFor('files', alice)?.refused(world.refusal({}));
    expect((await credentials.credentialProviderFor('files', bob)?.headers())?.authorization).toMatch(
      /^Bearer access-/,
    );
  });

  it('that are rejected are reported with the reason', async () => {
    const body = { error: 'invalid_client', error_description: 'no robots' };
    world.issuer.tokenAnswer = () => ({ status: 401, body });
    const failure = await world.firstRefusal(world.start({ ...robot, clientSecret: 'hush' }));
    expect(failure.reason).toBe('authorization_refused');
    expect(failure.data).toEqual({ error: 'invalid_client', description: 'no robots' });
  });
});

const exchange = { grant: 'token_exchange', clientId: 'gate', clientSecret: 'hush' } as const;

describe('token exchange', verifies('gateway:credentials:token-exchange'), () => {
  it('exchanges the token of the caller for one of the backend', async () => {
    const auth = { ...exchange, issuer: world.issuer.issuer, audience: 'files-api' };
    const presenter = world.start(auth).credentialProviderFor('files', alice, 'token-of-alice');
    await presenter?.refused(world.refusal({}));
    expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
    const grant = 'urn:ietf:params:oauth:grant-type:token-exchange';
    expect(Object.fromEntries(world.issuer.tokenRequests(grant)[0]?.form ?? [])).toMatchObject({
      subject_token: 'token-of-alice',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: world.backend.url,
      audience: 'files-api',
    });
    expect(JSON.stringify(world.backend.site.log)).not.toContain('token-of-alice');
  });

  const kept = [
    {
      name: 'a token without an end',
      lifetime: undefined,
      refreshes: false,
      expiresInMs: undefined,
      keptMs: 86_400_000,
    },
    { name: 'one that outlives the caller’s', lifetime: 7200, refreshes: false, expiresInMs: 600_000, keptMs: 600_000 },
    { name: 'one that could be renewed', lifetime: 60, refreshes: true, expiresInMs: 600_000, keptMs: 600_000 },
    { name: 'one that ends earlier', lifetime: 60, refreshes: false, expiresInMs: 600_000, keptMs: 60_000 },
  ];
  it.each(kept)(
    'keeps $name no longer than the token that it was made of',
    async ({ lifetime, refreshes, expiresInMs, keptMs }) => {
      world.issuer.lifetime = lifetime;
      world.issuer.givesRefreshTokens = refreshes;
      const caller = expiresInMs === undefined ? alice : { ...alice, expiresAt: world.time.now() + expiresInMs };
      const auth = { ...exchange, issuer: world.issuer.issuer };
      await world.start(auth).credentialProviderFor('files', caller, 'subject')?.refused(world.refusal({}));
      const afterRestart = () => world.start(auth).credentialProviderFor('files', caller, 'subject')?.headers();
      const margin = 20_000;
      world.time.move(keptMs - margin);
      expect((await afterRestart())?.authorization).toMatch(/^Bearer access-/);
      world.time.move(margin + 5_000);
      expect(await afterRestart()).toEqual({});
    },
  );

  it('makes of another token something else', async () => {
    const credentials = world.start({ ...exchange, issuer: world.issuer.issuer });
    await credentials.credentialProviderFor('files', alice, 'broad')?.refused(world.refusal({}));
    expect(await credentials.credentialProviderFor('files', alice, 'narrow')?.headers()).toEqual({});
  });

  const impossible = [
    { name: 'a caller without a token', token: undefined, metadata: {}, reason: 'exchange_impossible' },
    {
      name: 'a server that does not offer it',
      token: 'token-of-alice',
      metadata: { grant_types_supported: ['authorization_code'] },
      reason: 'authorization_refused',
    },
  ];
  it.each(impossible)('is not tried with $name', async ({ token, metadata, reason }) => {
    world.issuer.metadata = metadata;
    const credentials = world.start({ ...exchange, issuer: world.issuer.issuer });
    expect((await world.firstRefusal(credentials, alice, token)).reason).toBe(reason);
    expect(world.issuer.site.asked('/token')).toEqual([]);
  });
});

describe('an identity assertion', () => {
  let provider: TestIssuer;
  let auth: Partial<BackendAuth>;
  beforeEach(async () => {
    provider = await TestIssuer.open();
    provider.tokenAnswer = () => ({ body: { access_token: 'assertion-of-alice', token_type: 'N_A' } });
    const identityProvider = {
      issuer: provider.issuer,
      clientId: 'gate-at-home',
      clientSecret: 'home-secret',
      subjectTokenType: 'id_token',
    } as const;
    auth = { ...exchange, grant: 'identity_assertion', issuer: world.issuer.issuer, identityProvider };
  });
  afterEach(() => provider.site.close());

  const proven = verifies('client-auth:identity-assertion', 'client-auth:identity-assertion:assertion-callback');
  it('is made for the issuer and the resource at hand, and given for a token', proven, async () => {
    const presenter = world.start(auth).credentialProviderFor('files', alice, 'id-of-alice');
    await presenter?.refused(world.refusal({}));
    expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
    expect(Object.fromEntries(provider.site.asked('/token')[0]?.form ?? [])).toMatchObject({
      subject_token: 'id-of-alice',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: world.issuer.issuer,
      resource: world.backend.url,
    });
    const [asked] = world.issuer.tokenRequests('urn:ietf:params:oauth:grant-type:jwt-bearer');
    expect(asked?.form.get('assertion')).toBe('assertion-of-alice');
    expect(JSON.stringify(world.issuer.site.log)).not.toMatch(/id-of-alice|home-secret/);
  });

  const careful = verifies('client-auth:identity-assertion:issuer-pinning');
  it('is requested only after the metadata of the provider was checked', careful, async () => {
    provider.metadata = { issuer: 'https://attacker.example' };
    expect((await world.firstRefusal(world.start(auth), alice, 'id-of-alice')).reason).toBe('authorization_untrusted');
    expect(provider.site.asked('/token')).toEqual([]);
    expect(world.issuer.site.asked('/token')).toEqual([]);
  });

  const refused = verifies('client-auth:identity-assertion:invalid-assertion');
  it('that is rejected is reported with the reason, at either end', refused, async () => {
    world.issuer.tokenAnswer = () => ({ status: 400, body: { error: 'invalid_grant' } });
    const credentials = world.start(auth);
    const atServer = await world.firstRefusal(credentials, alice, 'id-of-alice');
    expect(atServer).toMatchObject({ reason: 'authorization_refused', data: { error: 'invalid_grant' } });
    provider.tokenAnswer = () => ({ status: 400, body: { error: 'invalid_request' } });
    const atProvider = await world.firstRefusal(credentials, alice, 'id-of-alice');
    expect(atProvider).toMatchObject({ reason: 'authorization_refused', data: { error: 'invalid_request' } });
    expect(atProvider.message).toContain('issued no assertion');
    expect(await credentials.credentialProviderFor('files', alice, 'id-of-alice')?.headers()).toEqual({});
  });

  it('is no token for bearers', async () => {
    provider.tokenAnswer = () => ({ body: { access_token: 'x', token_type: 'Bearer' } });
    expect((await world.firstRefusal(world.start(auth), alice, 'id')).reason).toBe('authorization_refused');
    expect(await failureOf(Promise.reject(await world.firstRefusal(world.start(auth), alice)))).toMatchObject({
      reason: 'exchange_impossible',
    });
  });
});
