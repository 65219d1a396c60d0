/** What is asked for, and what happens when it was not enough. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BackendAuth } from '../../../src/oauth/client/settings.ts';
import { verifies } from '../../requirements/verifies.ts';
import { alice, failureOf, World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

const asked = (at = 0) => world.issuer.site.asked('/authorize')[at]?.query.get('scope') ?? null;

interface Selection {
  readonly name: string;
  readonly challenge?: string;
  readonly resource?: readonly string[];
  readonly auth?: Partial<BackendAuth>;
  readonly offered?: readonly string[];
  readonly expect: string | null;
}

describe('scopes of a first request', verifies('client-auth:scope-selection:priority'), () => {
  const rows: readonly Selection[] = [
    { name: 'from the challenge', challenge: 'a b', resource: ['c'], auth: { scopes: ['d'] }, expect: 'a b' },
    { name: 'from the resource’s metadata', resource: ['c'], auth: { scopes: ['d'] }, expect: 'c' },
    { name: 'from the config', auth: { scopes: ['d'] }, expect: 'd' },
    { name: 'none, whatever the authorization server offers', offered: ['x', 'offline_access'], expect: null },
    { name: 'without invalid scopes', resource: ['a', 'b"c', ''], expect: 'a' },
  ];
  it.each(rows)('$name', async ({ challenge, resource, auth = {}, offered, expect: expected }) => {
    world.backend.scope = challenge;
    if (resource !== undefined) world.backend.metadata = { scopes_supported: resource };
    if (offered !== undefined) world.issuer.metadata = { scopes_supported: offered };
    await world.connect(world.start(auth));
    expect(asked()).toBe(expected);
  });

  it(
    'have offline_access where it is offered, with consent',
    verifies('client-auth:authorize:offline-access-consent'),
    async () => {
      world.backend.scope = 'a';
      world.issuer.metadata = { scopes_supported: ['a', 'offline_access'] };
      await world.connect(world.start());
      expect(asked()).toBe('a offline_access');
      expect(world.issuer.site.asked('/authorize')[0]?.query.get('prompt')).toBe('consent');
    },
  );

  it('have no offline_access where it is not offered, even if the backend wants it', async () => {
    world.backend.scope = 'a offline_access';
    await world.connect(world.start());
    expect(asked()).toBe('a');
  });
});

describe('a step-up', () => {
  it('requests the union, once', verifies('client-auth:403-scope-union', 'client-auth:403-scope-upgrade'), async () => {
    world.backend.scope = 'read';
    world.backend.metadata = { scopes_supported: ['unrelated'] };
    const credentials = world.start();
    const first = await world.connect(credentials);
    world.backend.scope = 'write';
    const presenter = credentials.credentialProviderFor('files', alice);
    const refusal = world.refusal(first, 'error="insufficient_scope"', 403);
    const failure = await failureOf(presenter?.refused(refusal));
    expect(failure.reason).toBe('consent_needed');
    // What is in hand goes on to serve for everything else.
    expect(await presenter?.headers()).toEqual(first);
    await world.agree(credentials, String(failure.data?.elicitationId));
    expect(asked(1)).toBe('read write');
    const second = await presenter?.headers();
    expect(second).not.toEqual(first);
    // The rest of the calls that were refused find something better in hand.
    await presenter?.refused(refusal);

    const again = world.refusal(second ?? {}, 'error="insufficient_scope"', 403);
    expect((await failureOf(presenter?.refused(again))).reason).toBe('backend_forbidden');
    expect(world.issuer.site.asked('/authorize')).toHaveLength(2);
  });

  it('keeps the requested scopes when the grant is revoked', async () => {
    world.backend.scope = 'read';
    const credentials = world.start();
    const first = await world.connect(credentials);
    world.issuer.endRefreshTokens();
    world.time.move(3_600_000);
    world.backend.scope = 'write';
    const presenter = credentials.credentialProviderFor('files', alice);
    expect(await presenter?.headers()).toEqual({});
    const failure = await failureOf(presenter?.refused(world.refusal({})));
    await world.agree(credentials, String(failure.data?.elicitationId));
    expect(asked(1)).toBe('read write');
    expect(first).not.toEqual({});
  });

  it('of a machine account requests the union too', async () => {
    world.backend.scope = 'read';
    const credentials = world.start({ grant: 'client_credentials', clientId: 'robot', clientSecret: 'hush' });
    const presenter = credentials.credentialProviderFor('files', alice);
    await presenter?.refused(world.refusal({}));
    world.backend.scope = 'write';
    const first = (await presenter?.headers()) ?? {};
    await presenter?.refused(world.refusal(first, 'error="insufficient_scope"', 403));
    expect(world.issuer.tokenRequests('client_credentials').map(({ form }) => form.get('scope'))).toEqual([
      'read',
      'read write',
    ]);
  });

  it('is no circle, also where each time something new is wanted', async () => {
    const credentials = world.start({ grant: 'client_credentials', clientId: 'robot', clientSecret: 'hush' });
    const presenter = credentials.credentialProviderFor('files', alice);
    const outcomes: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      world.backend.scope = `scope-${round}`;
      try {
        const presented = (await presenter?.headers()) ?? {};
        await presenter?.refused(world.refusal(presented, 'error="insufficient_scope"', 403));
        outcomes.push('again');
      } catch (error) {
        outcomes.push((error as { reason: string }).reason);
      }
    }
    expect(outcomes.slice(0, 5)).toEqual(['again', 'again', 'again', 'again', 'backend_unauthorized']);
    expect(outcomes.slice(5)).toEqual(Array.from({ length: 5 }, () => 'backend_unauthorized'));
    expect(world.issuer.site.asked('/token')).toHaveLength(4);
  });

  it('is not caused by any other 403', async () => {
    const credentials = world.start();
    const first = await world.connect(credentials);
    const failure = await failureOf(
      credentials.credentialProviderFor('files', alice)?.refused(world.refusal(first, '', 403)),
    );
    expect(failure.reason).toBe('backend_forbidden');
    expect(await credentials.credentialProviderFor('files', alice)?.headers()).toEqual(first);
  });
});
