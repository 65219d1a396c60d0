/** From a backend's first refusal to a token in hand. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { consentOf } from '../../../src/oauth/client/consent-store.ts';
import { verifies } from '../../requirements/verifies.ts';
import { alice, bob, failureOf, World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

describe('a backend that requires consent of a user', () => {
  it('gets no credentials at first, and a token once the user consented', async () => {
    const credentials = world.start();
    const presenter = credentials.credentialProviderFor('files', alice);
    expect(await presenter?.headers()).toEqual({});
    const failure = await failureOf(presenter?.refused(world.refusal({})));
    expect(failure.reason).toBe('consent_needed');
    const id = String(failure.data?.elicitationId);
    expect(failure.data).toEqual({ backend: 'files', url: `http://127.0.0.1:8000/connect/${id}`, elicitationId: id });

    const waiting = credentials.consents.waitFor(id, 5_000);
    await world.agree(credentials, id);
    expect(await waiting).toBe('done');
    const headers = await presenter?.headers();
    expect(headers?.authorization).toMatch(/^Bearer access-/);
    expect(presenter?.headers()).toBe(headers);
    expect(await credentials.credentialProviderFor('files', bob)?.headers()).toEqual({});
  });

  it(
    'names the resource, a challenge and a state in its request, and the resource and the verifier in the next',
    verifies('client-auth:resource-parameter', 'client-auth:pkce:s256'),
    async () => {
      await world.connect(world.start());
      const [authorize] = world.issuer.site.asked('/authorize');
      const query = Object.fromEntries(authorize?.query ?? []);
      expect(query).toMatchObject({
        response_type: 'code',
        redirect_uri: 'http://127.0.0.1:8000/oauth/callback',
        resource: world.backend.url,
        code_challenge_method: 'S256',
      });
      expect(consentOf(query.state ?? '')).toHaveLength(32);
      const [token] = world.issuer.tokenRequests('authorization_code');
      expect(token?.form.get('resource')).toBe(world.backend.url);
      expect(token?.form.get('code_verifier')).toMatch(/^[\w-]{43}$/);
    },
  );

  it(
    'requests consent of one user once, however many calls are rejected',
    verifies('client-auth:401-triggers-flow'),
    async () => {
      const credentials = world.start();
      const presenter = credentials.credentialProviderFor('files', alice);
      const failures = await Promise.all(
        Array.from({ length: 100 }, () => failureOf(presenter?.refused(world.refusal({})))),
      );
      expect(new Set(failures.map(({ data }) => data?.elicitationId)).size).toBe(1);
      expect(world.issuer.site.asked('/register')).toHaveLength(1);
      expect(world.backend.site.log).toHaveLength(1);
    },
  );

  it(
    'continues after a restart in the middle of the flow, and after one between login and use',
    verifies('gateway:credentials:restart'),
    async () => {
      const before = world.start();
      const failure = await failureOf(before.credentialProviderFor('files', alice)?.refused(world.refusal({})));
      const id = String(failure.data?.elicitationId);
      const brought = await world.visit(await before.consents.authorizationUrl(id));
      before.close();
      const after = world.start();
      await after.consents.complete(id, brought);
      const headers = await world.start().credentialProviderFor('files', alice)?.headers();
      expect(headers?.authorization).toMatch(/^Bearer access-/);
    },
  );

  it('ends with the consent’s time', async () => {
    const credentials = world.start();
    const failure = await failureOf(credentials.credentialProviderFor('files', alice)?.refused(world.refusal({})));
    const id = String(failure.data?.elicitationId);
    const brought = await world.visit(await credentials.consents.authorizationUrl(id));
    world.time.move(16 * 60_000);
    expect(await credentials.consents.find(id)).toBeUndefined();
    expect((await failureOf(credentials.consents.complete(id, brought))).reason).toBe('consent_unknown');
  });
});
