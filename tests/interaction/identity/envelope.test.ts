/**
 * Style `envelope`, for deployments with keys alone: a request is refused inside of its exchange, everything else by
 * HTTP.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { refusal } from '../harness/behind.ts';
import { type Headers, send } from '../harness/client.ts';
import { bearer } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { corsOf, type House, launchHouse, page, readableByPages } from './house.ts';
import { ways } from './ways.ts';

let house: House;
beforeAll(async () => {
  house = await launchHouse({
    identity: (_issuer, ring) => ({
      keys: { file: ring.path, header: 'x-access-key' },
      style: 'envelope',
      scopes: { required: ['mcp:use'] },
    }),
    endpoints: [
      { path: '/mcp' },
      { path: '/one/mcp', backends: ['modern'] },
      { path: '/two/mcp', backends: ['legacy'], identity: { keys: { query: 'key' } } },
      { path: '/http/mcp', backends: ['legacy'], identity: { style: 'challenge' } },
    ],
  });
});
afterAll(() => house.close());

interface Fault {
  readonly name: string;
  present(): Headers;
  readonly code?: number;
  readonly status?: number;
  readonly reason: string;
  readonly message: string;
  readonly error?: string;
  readonly data?: object;
}

const faults: readonly Fault[] = [
  { name: 'nothing', present: () => ({}), reason: 'credentials_missing', message: 'Authentication required' },
  {
    name: 'a wrong key',
    present: () => ({ 'x-access-key': 'guess' }),
    reason: 'key_unknown',
    message: 'The key is not known',
    error: 'invalid_token',
  },
  {
    name: 'a wrong key, as a bearer token',
    present: () => bearer('eyJhbGciOiJub25lIn0.e30.'),
    reason: 'key_unknown',
    message: 'The key is not known',
    error: 'invalid_token',
  },
  {
    name: 'an expired key',
    present: () => bearer(house.keys.expired),
    reason: 'key_expired',
    message: 'The key has expired',
    error: 'invalid_token',
  },
  {
    name: 'a key twice',
    present: () => ({ ...bearer(house.keys.good), 'x-access-key': house.keys.good }),
    code: -32600,
    status: 400,
    reason: 'credentials_ambiguous',
    message: 'The request has credentials in more than one place',
    error: 'invalid_request',
  },
];

describe.each(['/mcp', '/one/mcp', '/two/mcp'])('at %s', (path) => {
  it.each(faults)('$name', verifies('gateway:identity:envelope-style'), async (fault) => {
    const { message, reason, error, status = 401 } = fault;
    for (const way of ways) {
      const answer = await house.try(way, path, { ...fault.present(), ...page });
      const code = fault.code ?? { legacy: -32001, modern: 401 }[way.era];
      const isInside = way.kind !== 'other';
      const told = error === undefined ? '' : `error="${error}", error_description="${message}", `;
      expect(
        { status: answer.status, challenge: answer.headers['www-authenticate'], body: answer.json() },
        way.name,
      ).toEqual({
        status: isInside ? 200 : status,
        challenge: isInside ? undefined : `Bearer ${told}scope="mcp:use"`,
        body: {
          ...refusal({ code, message, reason }),
          ...(isInside && { id: way.id ?? null }),
        },
      });
      expect(corsOf(answer), way.name).toEqual(readableByPages);
    }
    house.expectNothingPassed();
  });

  it(
    'a key without the scope',
    verifies('gateway:identity:envelope-style', 'gateway:identity:insufficient-scope'),
    async () => {
      const answer = await house.try(ways[0]!, path, bearer(house.keys.poor));
      expect(answer.status).toBe(200);
      expect(answer.json()).toEqual(
        refusal({
          code: 403,
          message: 'More scopes are needed',
          reason: 'scope_insufficient',
          data: { required: ['mcp:use'], missing: ['mcp:use'] },
          id: 'init',
        }),
      );
      house.expectNothingPassed();
    },
  );
});

describe('the style', verifies('gateway:identity:envelope-style'), () => {
  it('has no envelope for HEAD, which gets 401', async () => {
    expect((await send(`${house.gateway.origin}/one/mcp`, { method: 'HEAD' })).status).toBe(401);
  });

  it('is the endpoint’s own business', async () => {
    expect((await house.try(ways[0]!, '/http/mcp')).status).toBe(401);
  });

  it('has no documents for clients that look for an authorization server', async () => {
    for (const path of ['', '/mcp', '/one/mcp', '/sse', '/messages']) {
      const answer = await send(`${house.gateway.origin}/.well-known/oauth-protected-resource${path}`, {
        method: 'GET',
      });
      expect(answer.status, path).toBe(404);
    }
  });
});

describe('a key in the query string', verifies('gateway:identity:query-key'), () => {
  const at = (path: string, query: string) => `${house.gateway.origin}${path}?${query}`;

  it('is accepted if the endpoint allows it, in both eras and for every method', async () => {
    const url = at('/two/mcp', `key=${house.keys.good}`);
    expect((await send(url, modern({ method: 'server/discover' }))).status).toBe(200);
    const client = await connectLegacy(url);
    const stream = await client.listen();
    expect(stream.status).toBe(200);
    stream.close();
    expect((await client.end()).status).toBe(204);
    const { received } = house.legacy;
    expect(received.length).toBeGreaterThan(0);
    expect(JSON.stringify(received)).not.toContain(house.keys.good);
    expect(JSON.stringify(house.gateway.log)).not.toContain(house.keys.good);
  });

  it.each(['/mcp', '/one/mcp', '/http/mcp'])('is ignored at %s', async (path) => {
    const answer = await send(at(path, `key=${house.keys.good}`), modern({ id: 1, method: 'server/discover' }));
    expect(answer.json().error.data.reason).toBe('credentials_missing');
  });

  it.each(['access_token', 'token', 'Key', 'x-access-key'])('is ignored as %s', async (name) => {
    const answer = await send(at('/two/mcp', `${name}=${house.keys.good}`), modern({ method: 'server/discover' }));
    expect(answer.json().error.data.reason).toBe('credentials_missing');
  });

  it('that is there twice, or beside another, is rejected', async () => {
    const twice = at('/two/mcp', `key=${house.keys.good}&key=${house.keys.good}`);
    for (const [url, headers] of [
      [twice, {}],
      [at('/two/mcp', `key=${house.keys.good}`), bearer(house.keys.good)],
    ] as const) {
      const answer = await send(url, modern({ method: 'server/discover', headers }));
      expect(answer.json().error.data.reason).toBe('credentials_ambiguous');
    }
  });
});

it('a token in the query string is ignored', verifies('hosting:auth:query-token-ignored'), async () => {
  const tokens = await launchHouse();
  try {
    const url = tokens.gateway.url();
    const token = await tokens.issuer.token(url);
    for (const name of ['access_token', 'token', 'key', 'authorization']) {
      const answer = await send(`${url}?${name}=${token}`, modern({ method: 'server/discover' }));
      expect(answer.status, name).toBe(401);
      expect(answer.headers['www-authenticate'], name).not.toContain('error=');
    }
    tokens.expectNothingPassed();
  } finally {
    await tokens.close();
  }
});
