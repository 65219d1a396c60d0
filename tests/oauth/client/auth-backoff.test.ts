/** One backend's failed authorisation is left alone for a while: for that principal, and not for others. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { alice, bob, failureOf, World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

describe('an authorization server that fails', verifies('gateway:credentials:left-alone'), () => {
  it('gets no request for a minute after three failures in a row, and calls get the last failure', async () => {
    world.issuer.site.pages.set(world.issuer.metadataPath, () => ({ status: 500 }));
    const credentials = world.start();
    for (let round = 0; round < 3; round += 1) {
      expect((await world.firstRefusal(credentials)).reason).toBe('authorization_unavailable');
    }
    const asked = world.issuer.site.log.length;
    const presenter = credentials.credentialProviderFor('files', alice);
    expect((await failureOf(presenter?.headers())).reason).toBe('authorization_unavailable');
    expect((await world.firstRefusal(credentials)).reason).toBe('authorization_unavailable');
    expect(world.issuer.site.log).toHaveLength(asked);
    expect(await credentials.credentialProviderFor('files', bob)?.headers()).toEqual({});
    world.time.move(61_000);
    expect(await presenter?.headers()).toEqual({});
  });

  it('is forgiven by a success', async () => {
    const credentials = world.start({ grant: 'client_credentials', clientId: 'robot', clientSecret: 'hush' });
    const presenter = credentials.credentialProviderFor('files', alice);
    for (let round = 0; round < 4; round += 1) {
      world.time.move(3_600_000);
      world.issuer.tokenAnswer = () => ({ status: 500 });
      await world.firstRefusal(credentials);
      await world.firstRefusal(credentials);
      world.issuer.tokenAnswer = undefined;
      world.issuer.givesRefreshTokens = false;
      await presenter?.refused(world.refusal({}));
    }
    expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
  });

  it('whose consents are not given is not a failure', async () => {
    const credentials = world.start();
    for (let round = 0; round < 10; round += 1) {
      expect((await world.firstRefusal(credentials)).reason).toBe('consent_needed');
    }
  });
});

describe('a consent that is not given yet', verifies('gateway:credentials:left-alone'), () => {
  it('for more scopes leaves the current token to all other calls, however often it is requested', async () => {
    world.backend.scope = 'read';
    const credentials = world.start();
    const first = await world.connect(credentials);
    world.backend.scope = 'write';
    const presenter = credentials.credentialProviderFor('files', alice);
    for (let round = 0; round < 10; round += 1) {
      const failure = await failureOf(presenter?.refused(world.refusal(first, 'error="insufficient_scope"', 403)));
      expect(failure.reason).toBe('consent_needed');
      expect(await presenter?.headers()).toEqual(first);
    }
  });

  it('in place of a revoked grant is requested with each call', async () => {
    world.issuer.givesRefreshTokens = false;
    const credentials = world.start();
    const first = await world.connect(credentials);
    world.time.move(120_000);
    const presenter = credentials.credentialProviderFor('files', alice);
    for (let round = 0; round < 10; round += 1) {
      expect((await failureOf(presenter?.refused(world.refusal(first)))).reason).toBe('consent_needed');
    }
  });

  it('ends the backoff of the backend once it is given', async () => {
    const credentials = world.start();
    const link = await world.firstRefusal(credentials);
    world.time.move(20_000);
    world.issuer.site.pages.set(world.issuer.metadataPath, () => ({ status: 500 }));
    for (let round = 0; round < 3; round += 1) await world.firstRefusal(credentials);
    const presenter = credentials.credentialProviderFor('files', alice);
    expect((await failureOf(presenter?.headers())).reason).toBe('authorization_unavailable');
    await world.agree(credentials, String(link.data?.elicitationId));
    expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
  });
});

describe('invalid responses of a token endpoint', () => {
  const answers = [
    { name: 'a token for other hands', body: { access_token: 'x', token_type: 'DPoP' } },
    { name: 'a token of no type', body: { access_token: 'x' } },
    { name: 'an unknown token type', body: { access_token: 'x', token_type: 'mac' } },
    { name: 'a token that would break a header', body: { access_token: 'x\r\nX-Admin: 1', token_type: 'Bearer' } },
    { name: 'a token that no header can hold', body: { access_token: 'x'.repeat(20_000), token_type: 'Bearer' } },
    { name: 'an empty token', body: { access_token: '', token_type: 'Bearer' } },
    { name: 'an invalid lifetime', body: { access_token: 'x', token_type: 'Bearer', expires_in: 'soon' } },
    { name: 'a negative lifetime', body: { access_token: 'x', token_type: 'Bearer', expires_in: -1 } },
    { name: 'a list', body: [] },
    { name: 'no JSON', body: 'access_token=x' },
    { name: 'a redirect', status: 302, headers: { location: 'https://evil.example' }, body: {} },
    { name: 'an error without a name', status: 400, body: {} },
    { name: 'an error in another language', status: 400, headers: { 'content-type': 'text/html' }, body: '<p>' },
  ];
  it.each(answers)('$name', async ({ name: _name, ...said }) => {
    const credentials = world.start();
    world.issuer.tokenAnswer = () => said;
    const failure = await failureOf(world.connect(credentials));
    expect(failure.reason).toBe('authorization_refused');
    expect(await credentials.credentialProviderFor('files', alice)?.headers()).toEqual({});
  });
});
