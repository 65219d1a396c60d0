/**
 * Whatever a backend, its authorization server or a browser says: a named failure, never in, and nobody asked who must
 * not be.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../../src/errors/failure.ts';
import type { OAuthCredentials } from '../../../src/oauth/client/create.ts';
import { createOutwardFetch, type Outward } from '../../../src/oauth/fetch/fetch.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Asked, alice, type Said, Site, World } from './support.ts';

const runs = { numRuns: 60, seed: 20260728 };

let world: World;
/** Stands for everything inside that only we can reach. */
let inside: Site;
let outward: Outward;
beforeAll(async () => {
  world = await World.open();
  inside = await Site.open();
  // The guard itself, for a backend that is not on this machine; names lead inside, as a hostile resolver would have
  // it.
  outward = createOutwardFetch({ resolve: async () => ['127.0.0.1'], limits: { connectMs: 500 } });
});
afterAll(async () => {
  await outward.close();
  await inside.close();
  await world.close();
});

/**
 * A backend elsewhere: its own pages are reached by the operator's word, and everything that it names through the
 * guard.
 */
const remote = 'https://files.example';

function start(pages: (url: URL) => Said): OAuthCredentials {
  const auth = { grant: 'authorization_code', shared: false } as const;
  return world.start(
    {},
    {
      backends: { files: { url: `${remote}/mcp`, auth } },
      trusted: async (url) => {
        const { status = 200, headers = {}, body = {} } = pages(new URL(url));
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        return new Response(status === 204 || status === 304 ? null : text, {
          status,
          headers: { 'content-type': 'application/json', ...(headers as Record<string, string>) },
        });
      },
      outward: (url, init) => outward.fetch(url, init),
    },
  );
}

async function outcomeOf(credentials: OAuthCredentials, challenge: readonly string[]): Promise<Failure> {
  const presenter = credentials.credentialProviderFor('files', alice);
  try {
    await presenter?.refused({ status: 401, wwwAuthenticate: challenge, presented: {} });
  } catch (error) {
    expect(await presenter?.headers()).toEqual({});
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('let in');
}

const printable = fc.string({ unit: 'grapheme-ascii', maxLength: 40 });
const nasty = fc.oneof(
  fc.constantFrom(
    'http://127.0.0.1:1/x',
    'https://localhost/x',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/x',
    'https://[::ffff:10.0.0.1]/x',
    'https://0x7f000001/x',
    'https://2130706433/x',
    'https://user:pass@files.example/x',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/html,x',
    '//evil.example',
    'https://',
    '',
  ),
  fc.webUrl(),
  printable,
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  nasty,
  fc.array(nasty, { maxLength: 4 }),
  fc.boolean(),
  fc.integer(),
  fc.constant(null),
  fc.constant({}),
);
const insidePort = () => new URL(inside.origin).port;

describe('a hostile backend', verifies('gateway:credentials:hostile'), () => {
  const resource = fc.record(
    {
      resource: fc.oneof(fc.constant(`${remote}/mcp`), fc.constant(remote), value),
      authorization_servers: fc.oneof(fc.array(nasty, { maxLength: 3 }), value),
      scopes_supported: value,
    },
    { requiredKeys: [] },
  );
  const said: fc.Arbitrary<Said> = fc.record({
    status: fc.constantFrom(200, 200, 200, 204, 301, 302, 304, 400, 404, 500),
    headers: fc.constant({ location: 'http://127.0.0.1/' }),
    body: fc.oneof(resource, value, printable),
  });

  it('gets a named failure, whatever its metadata and its challenge contain', async () => {
    const challenge = fc.oneof(
      nasty.map((address) => `Bearer resource_metadata="${address}"`),
      printable,
      fc.constant('Bearer'),
      nasty.map((address) => `Basic x, Bearer scope="${address}", error=${address}`),
    );
    await fc.assert(
      fc.asyncProperty(said, fc.array(challenge, { maxLength: 3 }), async (page, challenges) => {
        const values = challenges.map((text) => text.replace(/[^\x20-\x7e]/g, ''));
        const failure = await outcomeOf(
          start(() => page),
          values,
        );
        expect(failure.reason).toMatch(/^(?:authorization_|client_unregistered$)/);
        expect(failure.reason).not.toBe('internal_error');
      }),
      runs,
    );
    expect(inside.log).toEqual([]);
  });

  it('cannot make us send a request to an internal address, by any member of any document', async () => {
    const port = insidePort();
    const addresses = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', 'name.example'].flatMap(
      (host) => [`http://${host}:${port}/x`, `https://${host}:${port}/x`],
    );
    for (const address of addresses) {
      const named = { resource: `${remote}/mcp`, authorization_servers: [address] };
      const byServer = await outcomeOf(
        start(() => ({ body: named })),
        ['Bearer'],
      );
      expect(byServer.reason).toMatch(/^authorization_(?:untrusted|unavailable)$/);
      const byChallenge = await outcomeOf(
        start(() => ({ status: 404 })),
        [`Bearer resource_metadata="${address}"`],
      );
      expect(byChallenge.reason).toMatch(/^authorization_(?:untrusted|unavailable)$/);
      for (const member of ['token_endpoint', 'registration_endpoint', 'authorization_endpoint']) {
        // Its own authorization server, which is as much to be trusted as it is itself, names the rest.
        const document = {
          issuer: remote,
          authorization_endpoint: `${remote}/authorize`,
          token_endpoint: `${remote}/token`,
          registration_endpoint: `${remote}/register`,
          code_challenge_methods_supported: ['S256'],
          [member]: address,
        };
        const page = ({ pathname }: URL) => {
          if (pathname.includes('oauth-protected-resource')) return { status: 404 };
          return pathname === '/register' ? { status: 201, body: { client_id: 'c' } } : { body: document };
        };
        const credentials = start(page);
        const failure = await outcomeOf(credentials, ['Bearer']);
        if (failure.reason !== 'consent_needed') continue;
        const id = String(failure.data?.elicitationId);
        const state = new URL(await credentials.consents.authorizationUrl(id)).searchParams.get('state') ?? '';
        await credentials.consents.complete(id, new URLSearchParams({ code: 'x', state })).catch(() => undefined);
      }
    }
    expect(inside.log).toEqual([]);
  });
});

describe('a hostile authorization server', verifies('gateway:credentials:hostile'), () => {
  it('gets a named failure, whatever its metadata, registrations and tokens contain', async () => {
    const local = world.start();
    const members = [
      ...['issuer', 'authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'scopes_supported'],
      ...['code_challenge_methods_supported', 'token_endpoint_auth_methods_supported', 'grant_types_supported'],
      ...['client_id_metadata_document_supported', 'authorization_response_iss_parameter_supported'],
    ];
    const metadata = fc.dictionary(fc.constantFrom(...members), value, { maxKeys: 2 });
    const answer: fc.Arbitrary<Said> = fc.record({
      status: fc.constantFrom(200, 201, 302, 400, 401, 403, 500),
      headers: fc.constantFrom({}, { 'www-authenticate': 'Bearer error="x"' }, { 'content-type': 'text/html' }),
      body: fc.oneof(
        fc.dictionary(fc.constantFrom('client_id', 'client_secret', 'client_secret_expires_at', 'error'), value),
        fc.dictionary(fc.constantFrom('access_token', 'token_type', 'expires_in', 'refresh_token', 'scope'), value),
        value,
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        metadata,
        fc.option(answer),
        fc.option(answer),
        fc.uuid(),
        async (more, registered, given, who) => {
          world.issuer.metadata = more;
          world.issuer.registrationAnswer = registered === null ? undefined : () => registered;
          world.issuer.tokenAnswer = given === null ? undefined : () => given;
          const principal = { ...alice, key: who };
          const failure = await world.firstRefusal(local, principal);
          expect(failure.reason).toMatch(/^(?:authorization_|client_unregistered$|consent_needed$)/);
          if (failure.reason !== 'consent_needed') return;
          const id = String(failure.data?.elicitationId);
          const state = new URL(await local.consents.authorizationUrl(id)).searchParams.get('state') ?? '';
          const parameters = new URLSearchParams({ code: 'x', state });
          const end = await local.consents.complete(id, parameters).catch((error: unknown) => error);
          if (end instanceof Failure) expect(end.reason).toMatch(/^(?:authorization_|consent_)/);
          else expect(end).toMatchObject({ id });
        },
      ),
      runs,
    );
    world.issuer.metadata = {};
    world.issuer.registrationAnswer = undefined;
    world.issuer.tokenAnswer = undefined;
  });
});

describe('a hostile browser', verifies('gateway:credentials:hostile'), () => {
  it('never completes a consent, whatever it sends', async () => {
    const credentials = world.start();
    const failure = await world.firstRefusal(credentials, { ...alice, key: 'victim' });
    const id = String(failure.data?.elicitationId);
    const brought = await world.visit(await credentials.consents.authorizationUrl(id));
    const before = world.issuer.site.asked('/token').length;
    const names = fc.constantFrom(
      'code',
      'state',
      'iss',
      'error',
      'error_description',
      'id_token',
      'response',
      'scope',
    );
    const pairs = fc.array(fc.tuple(names, fc.oneof(printable, fc.constant(id), fc.constant(`${id}.`))), {
      maxLength: 6,
    });
    const ids = fc.oneof(fc.constant(id), printable, fc.constantFrom('', '..', `${id}\0`, '\ud800', 'x'.repeat(9000)));
    await fc.assert(
      fc.asyncProperty(ids, pairs, async (which, parameters) => {
        const error = await credentials.consents.complete(which, new URLSearchParams(parameters)).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toBeInstanceOf(Failure);
        expect((error as Failure).reason).toMatch(/^consent_(?:invalid|unknown)$/);
      }),
      { ...runs, numRuns: 300 },
    );
    const tokenRequests: readonly Asked[] = world.issuer.site.asked('/token');
    expect(tokenRequests).toHaveLength(before);
    await credentials.consents.complete(id, brought);
  });
});
