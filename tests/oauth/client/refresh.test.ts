/** Tokens that end, and what comes after them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { alice, failureOf, World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

const refreshes = () => world.issuer.tokenRequests('refresh_token').length;
const hour = 3_600_000;

describe('an expired token', () => {
  it(
    'is refreshed once for a thousand calls at two replicas',
    verifies('client-auth:refresh:transparent', 'gateway:credentials:refresh-once'),
    async () => {
      const first = world.start();
      const second = world.start();
      const old = await world.connect(first);
      world.time.move(hour);
      const calls = Array.from({ length: 1000 }, async (_, index) =>
        (index % 2 === 0 ? first : second).credentialProviderFor('files', alice)?.headers(),
      );
      const tokens = new Set((await Promise.all(calls)).map((headers) => headers?.authorization));
      expect(refreshes()).toBe(1);
      expect(tokens.size).toBe(1);
      expect([...tokens][0]).not.toBe(old.authorization);
    },
  );

  it('that the backend found out about is refreshed once for a thousand refusals at two replicas', async () => {
    const first = world.start();
    const second = world.start();
    const old = await world.connect(first);
    world.time.move(120_000);
    const refusals = Array.from({ length: 1000 }, (_, index) =>
      (index % 2 === 0 ? first : second).credentialProviderFor('files', alice)?.refused(world.refusal(old)),
    );
    await Promise.all(refusals);
    expect(refreshes()).toBe(1);
    expect(await first.credentialProviderFor('files', alice)?.headers()).toEqual(
      await second.credentialProviderFor('files', alice)?.headers(),
    );
  });

  it(
    'is refreshed after a restart, for the resource, with the same client',
    verifies('gateway:credentials:restart'),
    async () => {
      await world.connect(world.start());
      world.time.move(hour);
      const headers = await world.start().credentialProviderFor('files', alice)?.headers();
      expect(headers?.authorization).toMatch(/^Bearer access-/);
      const [code] = world.issuer.tokenRequests('authorization_code');
      const [refresh] = world.issuer.tokenRequests('refresh_token');
      expect(refresh?.form.get('resource')).toBe(world.backend.url);
      expect(refresh?.headers.authorization).toBe(code?.headers.authorization);
    },
  );

  it('is refreshed again and again, whether refresh tokens rotate or not', async () => {
    for (const rotates of [true, false]) {
      world.issuer.rotates = rotates;
      const presenter = world.start().credentialProviderFor('files', alice);
      if (rotates) await world.connect(world.start());
      for (let round = 0; round < 3; round += 1) {
        world.time.move(hour);
        expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
      }
    }
    expect(refreshes()).toBe(6);
  });

  it('keeps the refresh token if the response has no new one', async () => {
    const credentials = world.start();
    await world.connect(credentials);
    world.issuer.rotates = false;
    world.issuer.givesRefreshTokens = false;
    const presenter = credentials.credentialProviderFor('files', alice);
    for (let round = 0; round < 2; round += 1) {
      world.time.move(hour);
      expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
    }
    expect(refreshes()).toBe(2);
  });

  it('without a refresh token is not sent any more, and the user has to consent again', async () => {
    world.issuer.givesRefreshTokens = false;
    const credentials = world.start();
    await world.connect(credentials);
    world.time.move(hour);
    expect(await credentials.credentialProviderFor('files', alice)?.headers()).toEqual({});
    expect((await world.firstRefusal(credentials)).reason).toBe('consent_needed');
    expect(refreshes()).toBe(0);
  });

  it(
    'whose grant is revoked is deleted, and the registration is kept',
    verifies('client-auth:invalid-grant-clears-tokens'),
    async () => {
      const credentials = world.start();
      await world.connect(credentials);
      world.issuer.endRefreshTokens();
      world.time.move(hour);
      expect(await credentials.credentialProviderFor('files', alice)?.headers()).toEqual({});
      await world.connect(credentials);
      expect(world.issuer.site.asked('/register')).toHaveLength(1);
      expect(refreshes()).toBe(1);
    },
  );

  it('that expires soon is used to its end while no better one is available', async () => {
    const credentials = world.start();
    const old = await world.connect(credentials);
    world.issuer.tokenAnswer = () => ({ status: 503 });
    world.time.move(hour - 10_000);
    const presenter = credentials.credentialProviderFor('files', alice);
    expect(await presenter?.headers()).toEqual(old);
    expect(presenter?.headers()).toEqual(old);
    expect(refreshes()).toBe(1);
    world.time.move(20_000);
    expect((await failureOf(presenter?.headers())).reason).toBe('authorization_unavailable');
    world.issuer.tokenAnswer = undefined;
    expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
  });
});

describe('a token without an end', () => {
  it('is presented until the backend refuses it', async () => {
    world.issuer.lifetime = undefined;
    const credentials = world.start();
    const old = await world.connect(credentials);
    world.time.move(1000 * hour);
    const presenter = credentials.credentialProviderFor('files', alice);
    expect(presenter?.headers()).toEqual(old);
    await presenter?.refused(world.refusal(old));
    expect(await presenter?.headers()).not.toEqual(old);
    expect(refreshes()).toBe(1);
  });
});

describe('a token that is rejected when it is new', () => {
  it('is not fetched again', verifies('client-auth:401-after-auth-throws'), async () => {
    const credentials = world.start();
    const fresh = await world.connect(credentials);
    const failure = await failureOf(credentials.credentialProviderFor('files', alice)?.refused(world.refusal(fresh)));
    expect(failure.reason).toBe('backend_unauthorized');
    expect(world.issuer.site.asked('/token')).toHaveLength(1);
  });

  it('though it was refreshed: then the user has to consent again', async () => {
    const credentials = world.start();
    const old = await world.connect(credentials);
    world.time.move(120_000);
    const presenter = credentials.credentialProviderFor('files', alice);
    await presenter?.refused(world.refusal(old));
    const failure = await failureOf(presenter?.refused(world.refusal((await presenter?.headers()) ?? {})));
    expect(failure.reason).toBe('consent_needed');
    expect(refreshes()).toBe(1);
  });
});

describe('a config that changed', () => {
  it('to another client or issuer has no token', async () => {
    await world.connect(world.start());
    expect(await world.start({ clientId: 'ours' }).credentialProviderFor('files', alice)?.headers()).toEqual({});
    expect(
      await world.start({ issuer: 'https://login.example' }).credentialProviderFor('files', alice)?.headers(),
    ).toEqual({});
    expect((await world.start().credentialProviderFor('files', alice)?.headers())?.authorization).toMatch(
      /^Bearer access-/,
    );
  });

  it('to another address of the backend never shows it the old one’s token', async () => {
    await world.connect(world.start());
    const auth = { grant: 'authorization_code', shared: false } as const;
    const moved = world.start({}, { backends: { files: { url: 'https://elsewhere.example/mcp', auth } } });
    expect(await moved.credentialProviderFor('files', alice)?.headers()).toEqual({});
  });

  it('forgets on demand', async () => {
    const credentials = world.start();
    await world.connect(credentials);
    await credentials.forget('files', alice);
    expect(await credentials.credentialProviderFor('files', alice)?.headers()).toEqual({});
  });
});
