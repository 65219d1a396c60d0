/** Style `challenge`: what is wrong with the credentials is told as HTTP and OAuth have it, at every way in. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequirementId } from '../../requirements/catalogue.ts';
import { verifies } from '../../requirements/verifies.ts';
import { refusal } from '../harness/behind.ts';
import { type Headers, send } from '../harness/client.ts';
import { bearer } from '../harness/credentials.ts';
import { connectLegacy, modern, modernHeaders } from '../harness/eras.ts';
import { SseClient } from '../harness/sse-client.ts';
import { corsOf, everyScope, type House, launchHouse, page, readableByPages } from './house.ts';
import { olderTransport, streamable, type Way, ways } from './ways.ts';

const scopes = { required: ['mcp:use'], methods: { 'tools/call': ['tools:call'] } };

let derived: House;
let own: House;
beforeAll(async () => {
  const identity: Parameters<typeof launchHouse>[0] = {
    identity: (issuer, ring) => ({
      keys: { file: ring.path, header: 'x-access-key' },
      issuers: [{ issuer: issuer.url }],
      scopes,
    }),
  };
  derived = await launchHouse(identity);
  own = await launchHouse({
    ...identity,
    endpoints: [
      { path: '/mcp', backends: ['modern'], identity: 'none' },
      { path: '/teams/blue/mcp', profile: { revisions: ['2024-11-05', '2025-03-26', '2026-07-28'], batches: 'allow' } },
      { path: '/teams/red/mcp', backends: ['legacy'] },
    ],
  });
});
afterAll(async () => {
  await derived.close();
  await own.close();
});

interface Endpoint {
  readonly name: string;
  readonly path: string;
  readonly house: () => House;
}

const endpoints: readonly Endpoint[] = [
  { name: 'the address for everything', path: '/mcp', house: () => derived },
  { name: 'the address of a legacy backend', path: '/servers/legacy/mcp', house: () => derived },
  { name: 'the address of a modern backend', path: '/servers/modern/mcp', house: () => derived },
  { name: 'an endpoint of one’s own, many backends', path: '/teams/blue/mcp', house: () => own },
  { name: 'an endpoint of one’s own, one backend', path: '/teams/red/mcp', house: () => own },
];

interface Fault {
  readonly name: string;
  readonly verifies: readonly RequirementId[];
  present(house: House, resource: string): Headers | Promise<Headers>;
  readonly reason: string;
  readonly status?: 400;
  /** Absent where nothing was presented. */
  readonly error?: 'invalid_token' | 'invalid_request';
  readonly message: string;
}

const badToken = { error: 'invalid_token', reason: 'token_invalid' } as const;
const otherAudience = {
  verifies: ['gateway:identity:bad-token', 'gateway:identity:audience-compare', 'hosting:auth:aud-validation'],
  error: 'invalid_token',
  reason: 'audience_mismatch',
  message: 'The token is for another audience',
} as const;
const foreign = (name: string, aud: (resource: string) => unknown): Fault => ({
  ...otherAudience,
  name,
  present: async ({ issuer }, resource) => bearer(await issuer.token(aud(resource), { scope: 'mcp:use' })),
});
const invalid = ['gateway:identity:bad-token', 'hosting:auth:invalid-401'] as const;
const missing: Pick<Fault, 'verifies' | 'reason' | 'message'> = {
  verifies: ['gateway:identity:no-credentials', 'hosting:auth:missing-401'],
  reason: 'credentials_missing',
  message: 'Authentication required',
};

const faults: readonly Fault[] = [
  { ...missing, name: 'nothing', present: () => ({}) },
  { ...missing, name: 'another scheme', present: () => ({ authorization: 'Basic YTpi' }) },
  {
    name: 'text that is no token',
    verifies: invalid,
    ...badToken,
    present: () => bearer('not-a-token'),
    message: 'The token is malformed',
  },
  {
    name: 'a scheme without a token',
    verifies: invalid,
    ...badToken,
    present: () => ({ authorization: 'Bearer' }),
    message: 'The token is malformed',
  },
  {
    name: 'a token of an unknown issuer',
    verifies: invalid,
    ...badToken,
    present: async ({ issuer }, resource) => bearer(await issuer.token(resource, { iss: 'https://other.example' })),
    message: 'The issuer of the token is not configured',
  },
  {
    name: 'a token with the signature of another issuer',
    verifies: invalid,
    ...badToken,
    present: async ({ issuer }, resource) => bearer(await issuer.forged(resource)),
    message: 'The signature is not valid',
  },
  {
    name: 'an expired token',
    verifies: ['gateway:identity:bad-token', 'hosting:auth:expired-401'],
    error: 'invalid_token',
    reason: 'token_expired',
    present: async ({ issuer }, resource) =>
      bearer(await issuer.token(resource, { exp: Math.floor(Date.now() / 1000) - 3600 })),
    message: 'The token has expired',
  },
  {
    ...otherAudience,
    name: 'a token without an audience',
    present: async ({ issuer }) => bearer(await issuer.token(undefined)),
    reason: 'audience_missing',
    message: 'The token names no audience',
  },
  foreign('a token for another host', () => 'https://other.example/mcp'),
  foreign('a token for a sibling', (resource) => resource.replace(/\w+$/, 'other')),
  foreign('a token for a child', (resource) => `${resource}/child`),
  foreign('a token for the whole host', (resource) => new URL(resource).origin),
  foreign('an audience whose port is none', () => 'http://127.0.0.1:99999/mcp'),
  foreign('an audience with letters in its port', () => 'http://127.0.0.1:80a/mcp'),
  foreign('an audience with a fragment', (resource) => `${resource}#`),
  foreign('an audience with another query', (resource) => `${resource}?key=1`),
  foreign('an audience that is no text', (resource) => [{ resource }, 7]),
  {
    name: 'a key that was never issued',
    verifies: ['gateway:identity:bad-token'],
    error: 'invalid_token',
    reason: 'key_unknown',
    present: () => bearer(`bsc_${'0'.repeat(12)}_${'A'.repeat(43)}`),
    message: 'The key is not known',
  },
  {
    name: 'something else in the key’s own header',
    verifies: ['gateway:identity:bad-token'],
    error: 'invalid_token',
    reason: 'key_unknown',
    present: () => ({ 'x-access-key': 'guess' }),
    message: 'The key is not known',
  },
  {
    name: 'an expired key',
    verifies: ['gateway:identity:bad-token'],
    error: 'invalid_token',
    reason: 'key_expired',
    present: ({ keys }) => ({ 'x-access-key': keys.expired }),
    message: 'The key has expired',
  },
  {
    name: 'a key and a token at once',
    verifies: ['gateway:identity:ambiguous'],
    status: 400,
    error: 'invalid_request',
    reason: 'credentials_ambiguous',
    present: () => ({ ...bearer('a'), 'x-access-key': 'b' }),
    message: 'The request has credentials in more than one place',
  },
];

/** The stream's address is the one that a client of HTTP+SSE knows. */
function resourceOf(origin: string, path: string, { at }: Way): string {
  return `${origin}${at === undefined ? path : path.replace(/mcp$/, 'sse')}`;
}

function metadataOf(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}/.well-known/oauth-protected-resource${pathname}`;
}

describe.each(endpoints)('at $name, whatever the message, is rejected', ({ path, house }) => {
  for (const fault of faults) {
    it(fault.name, verifies(...fault.verifies, 'gateway:identity:every-way'), async () => {
      const at = house();
      const { status = 401, error, message, reason } = fault;
      for (const way of ways) {
        const resource = resourceOf(at.gateway.origin, path, way);
        const answer = await at.try(way, path, { ...(await fault.present(at, resource)), ...page });
        const needed = ['mcp:use', ...(way.scopes ?? [])].join(' ');
        const told = error === undefined ? '' : `error="${error}", error_description="${message}", `;
        const code = status === 400 ? -32600 : { legacy: -32001, modern: 401 }[way.era];
        expect({ status: answer.status, type: answer.headers['content-type'] }, way.name).toEqual({
          status,
          type: 'application/json',
        });
        expect(answer.headers['www-authenticate'], way.name).toBe(
          `Bearer ${told}resource_metadata="${metadataOf(resource)}", scope="${needed}"`,
        );
        expect(corsOf(answer), way.name).toEqual(readableByPages);
        expect(answer.json(), way.name).toEqual(
          refusal({ code, message, reason, ...(way.id === undefined ? {} : { id: way.id }) }),
        );
      }
      at.expectNothingPassed();
    });
  }
});

describe.each(endpoints)('at $name, valid credentials without the scopes', ({ path, house }) => {
  const presented: readonly { name: string; present(at: House, resource: string): Promise<Headers> }[] = [
    { name: 'a token', present: async ({ issuer }, resource) => bearer(await issuer.token(resource)) },
    { name: 'a key', present: async ({ keys }) => bearer(keys.poor) },
  ];
  it.each(presented)(
    'of $name get all of them in one challenge',
    verifies('gateway:identity:insufficient-scope', 'hosting:auth:scope-403'),
    async ({ present }) => {
      const at = house();
      for (const way of [...streamable, ...olderTransport.slice(0, 1)]) {
        const resource = resourceOf(at.gateway.origin, path, way);
        const answer = await at.try(way, path, { ...(await present(at, resource)), ...page });
        if (way.kind === 'unreadable') {
          expect(answer.status, way.name).toBe(400);
          continue;
        }
        const required = ['mcp:use', ...(way.scopes ?? [])];
        expect(answer.status, way.name).toBe(403);
        expect(answer.headers['www-authenticate'], way.name).toBe(
          'Bearer error="insufficient_scope", error_description="More scopes are needed", ' +
            `resource_metadata="${metadataOf(resource)}", scope="${required.join(' ')}"`,
        );
        expect(corsOf(answer), way.name).toEqual(readableByPages);
        expect(answer.json(), way.name).toEqual(
          refusal({
            code: 403,
            message: 'More scopes are needed',
            reason: 'scope_insufficient',
            data: { required, missing: required },
            ...(way.id === undefined ? {} : { id: way.id }),
          }),
        );
      }
      at.expectNothingPassed();
    },
  );
});

describe('what precedes authentication', verifies('gateway:gates:order'), () => {
  it('is a method that the path does not have', async () => {
    for (const method of ['PUT', 'PATCH']) {
      const answer = await send(`${derived.gateway.origin}/mcp`, { method });
      expect(answer.status, method).toBe(405);
    }
    for (const method of ['GET', 'DELETE']) {
      const answer = await send(`${derived.gateway.origin}/mcp`, { method, headers: modernHeaders('ping') });
      expect({ status: answer.status, allow: answer.headers.allow }, method).toEqual({
        status: 405,
        allow: 'POST, OPTIONS',
      });
    }
  });

  it('is not 405 for HEAD: a client without credentials gets 401', async () => {
    const url = `${derived.gateway.origin}/mcp`;
    const stranger = await send(url, { method: 'HEAD' });
    expect(stranger.status).toBe(401);
    expect(stranger.headers['www-authenticate']).toContain('resource_metadata=');
    const headers = { 'x-access-key': derived.keys.good };
    expect((await send(url, { method: 'HEAD', headers })).status).toBe(405);
  });

  it('is the check of Origin and Host', async () => {
    for (const way of ways) {
      const answer = await derived.try(way, '/mcp', { origin: 'https://evil.example' });
      expect(answer.status, way.name).toBe(403);
      expect(answer.headers['www-authenticate'], way.name).toBeUndefined();
    }
  });

  it('is a preflight, which needs no credentials and may request the header of the key', async () => {
    const answer = await send(`${derived.gateway.origin}/mcp`, {
      method: 'OPTIONS',
      headers: { ...page, 'access-control-request-headers': 'Authorization, X-Access-Key, X-Other' },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-headers']).toBe('Authorization, X-Access-Key');
  });

  it('is not the size of the body', async () => {
    const large = 'x'.repeat(4 * 1024 * 1024 + 1);
    for (const path of ['/mcp', '/messages']) {
      const answer = await send(`${derived.gateway.origin}${path}`, { body: large });
      expect(answer.status, path).toBe(401);
    }
  });
});

describe('an endpoint', verifies('gateway:identity:every-way'), () => {
  it('is open only if its config says so', async () => {
    const answer = await send(`${own.gateway.origin}/mcp`, modern({ method: 'server/discover' }));
    expect(answer.status).toBe(200);
    own.modern.forget();
  });

  it('with identity accepts valid credentials, token or key', async () => {
    for (const path of ['/mcp', '/servers/legacy/mcp', '/servers/modern/mcp']) {
      const token = await derived.issuer.token(`${derived.gateway.origin}${path}`, { scope: everyScope.join(' ') });
      for (const headers of [bearer(token), bearer(derived.keys.good), { 'X-Access-Key': derived.keys.good }]) {
        const answer = await send(`${derived.gateway.origin}${path}`, modern({ method: 'server/discover', headers }));
        expect(answer.status, path).toBe(200);
        const client = await connectLegacy(`${derived.gateway.origin}${path}`, {}, headers);
        expect((await client.end()).status, path).toBe(204);
        const line = await SseClient.connect(`${derived.gateway.origin}${path.replace(/mcp$/, 'sse')}`, {}, headers);
        line.close();
      }
    }
  });
});
