/** Whatever is presented at a running gateway is 400, 401 or 403: never a fault of its own, and never in. */
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { awkwardJson } from '../../wire/property.ts';
import { DEADLINE_MS } from '../harness/client.ts';
import { everyScope, type House, launchHouse } from './house.ts';

const seed = Number(process.env.BASCULE_SEED ?? 20260728);
const refusals = [400, 401, 403];

let house: House;
let token: string;
let resource: string;
beforeAll(async () => {
  house = await launchHouse({
    identity: (issuer, ring) => ({
      keys: { file: ring.path, header: 'x-access-key', query: 'key' },
      issuers: [{ issuer: issuer.url }],
      scopes: { required: ['mcp:use'] },
    }),
  });
  resource = house.gateway.url();
  token = await house.issuer.token(resource, { scope: everyScope.join(' ') });
});
afterAll(() => house.close());
beforeEach(() => () => {
  house.expectNothingPassed();
  expect(house.gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
});

const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'f', version: '1' } },
});

/** Lines as they are, bytes that no HTTP library would send included. Resolves with the status. */
function status(headers: readonly string[], target = '/mcp', method = 'POST'): Promise<number> {
  const { hostname, port } = new URL(house.gateway.origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let heard = '';
    socket.setTimeout(DEADLINE_MS, () =>
      socket.destroy(new Error(`no answer to ${JSON.stringify([target, headers])}`)),
    );
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      const found = /^HTTP\/1\.1 (\d+)/.exec(heard)?.[1];
      if (found === undefined) return;
      socket.destroy();
      resolve(Number(found));
    });
    socket.on('close', () => reject(new Error(`closed after ${JSON.stringify(heard)}`)));
    const lines = [
      `${method} ${target} HTTP/1.1`,
      `Host: ${hostname}:${port}`,
      'Accept: application/json, text/event-stream',
      'Connection: close',
      ...(method === 'POST' ? ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`] : []),
      ...headers,
    ];
    socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
    if (method === 'POST') socket.write(body);
  });
}

/** What may stand in a header: no line ends, which would make another header of it. */
const value = fc.uint8Array({ maxLength: 80 }).map((bytes) =>
  Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(/[\r\n\0]/g, ' '),
);
const names = fc.constantFrom('Authorization', 'authorization', 'AUTHORIZATION', 'X-Access-Key', 'x-access-key');
const methods = fc.constantFrom('POST', 'GET', 'DELETE');
const part = fc.oneof(
  awkwardJson.map((json) => Buffer.from(JSON.stringify(json)).toString('base64url')),
  fc.base64String().map((text) => text.replaceAll(/[+/=]/g, '_')),
  fc.constant(''),
);

describe('never in, and never a fault', verifies('gateway:identity:fuzzed', 'gateway:identity:bad-token'), () => {
  it('with any headers, once or several times', async () => {
    const presented = fc.oneof(
      value,
      value.map((text) => `Bearer ${text}`),
      fc.base64String().map((text) => `bearer  ${text}`),
      fc.array(part, { maxLength: 6 }).map((parts) => `Bearer ${parts.join('.')}`),
      fc.constantFrom(
        'Bearer',
        'Bearer ',
        'Bearer null',
        'Bearer bsc_',
        `Bearer bsc_${'0'.repeat(12)}_${'_'.repeat(43)}`,
        'Basic Og==',
      ),
    );
    const headers = fc.array(
      fc.tuple(names, presented).map(([name, text]) => `${name}: ${text}`),
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(headers, methods, async (lines, method) => {
        expect(refusals).toContain(await status(lines, '/mcp', method));
      }),
      { seed, numRuns: 400 },
    );
  });

  it('with any query', async () => {
    const query = fc.array(
      fc.tuple(fc.constantFrom('key', 'Key', '%6bey', 'access_token', ''), fc.webQueryParameters()),
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(query, methods, fc.constantFrom('/mcp', '/servers/legacy/mcp'), async (pairs, method, path) => {
        const text = pairs.map(([name, written]) => `${name}=${written}`).join('&');
        expect(refusals).toContain(await status([], `${path}?${text}`, method));
      }),
      { seed, numRuns: 200 },
    );
  });

  it('with a valid token or key with one character changed', async () => {
    const change = fc.constantFrom('A', 'b', '0', '.', '-', '_', '=', '');
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('token', 'key'), fc.nat(2000), change, async (which, at, to) => {
        const good = which === 'token' ? token : house.keys.good;
        const spot = at % good.length;
        const changed = `${good.slice(0, spot)}${to}${good.slice(spot + 1)}`;
        // The last character of a part has bits that mean nothing: such a token is the same one.
        if (which === 'token' ? sameBytes(changed, good) : changed === good) return;
        expect(refusals).toContain(await status([`Authorization: Bearer ${changed}`]));
      }),
      { seed, numRuns: 200 },
    );
  });

  it('with claims of any kind, rightly signed, unless the audience and the scopes are there', async () => {
    const odd = fc.oneof(awkwardJson, fc.constant(undefined), fc.webUrl());
    const claims = fc.record({
      sub: odd,
      client_id: odd,
      scope: odd,
      scp: odd,
      cnf: odd,
      nbf: odd,
      iat: odd,
      jti: odd,
      extra: odd,
    });
    await fc.assert(
      fc.asyncProperty(claims, odd, async (more, aud) => {
        const made = await house.issuer.token(aud, more);
        expect(refusals).toContain(await status([`Authorization: Bearer ${made}`]));
      }),
      { seed, numRuns: 200 },
    );
  });

  it('with any header of a token', async () => {
    const header = fc.record(
      {
        alg: fc.constantFrom('ES256'),
        kid: fc.oneof(fc.constant('one'), fc.string({ maxLength: 20 })),
        typ: fc.oneof(fc.constantFrom('at+jwt', 'JWT', 'dpop+jwt', 'logout+jwt'), fc.string({ maxLength: 20 })),
        cty: fc.string({ maxLength: 10 }),
        jku: fc.webUrl(),
        x5u: fc.webUrl(),
      },
      { requiredKeys: ['alg'] },
    );
    await fc.assert(
      fc.asyncProperty(header, async (head) => {
        const made = await house.issuer.token(resource, {}, head);
        expect(refusals).toContain(await status([`Authorization: Bearer ${made}`]));
      }),
      { seed, numRuns: 100 },
    );
  });

  it('with an audience that is almost right', async () => {
    const { port } = new URL(resource);
    const near = fc.constantFrom(
      ...[
        `http://127.0.0.1:${port}/mcp\\`,
        `http://127.0.0.1:${port}/./mcp`,
        `http://127.0.0.1:${port}/x/../mcp`,
        `http://127.0.0.1:${port}/%6dcp`,
      ],
      ...[
        `http://127.0.0.1:${port}//mcp`,
        `http:127.0.0.1:${port}/mcp`,
        `http://user@127.0.0.1:${port}/mcp`,
        ` http://127.0.0.1:${port}/mcp`,
      ],
      ...[
        `http://127.1:${port}/mcp`,
        `http://0x7f000001:${port}/mcp`,
        `http://127.0.0.1.:${port}/mcp`,
        `http://127.0.0.1:${port}/mcp\n`,
      ],
      ...[
        `http://127.0.0.1:${port}/mcp?`,
        `http://127.0.0.1:${Number(port) + 65_536}/mcp`,
        `http://１27.0.0.1:${port}/mcp`,
        `//127.0.0.1:${port}/mcp`,
      ],
    );
    await fc.assert(
      fc.asyncProperty(near, fc.boolean(), async (aud, listed) => {
        const made = await house.issuer.token(listed ? [aud] : aud, { scope: 'mcp:use' });
        expect(await status([`Authorization: Bearer ${made}`])).toBe(401);
      }),
      { seed, numRuns: 60 },
    );
  });
});

function sameBytes(one: string, other: string): boolean {
  const bytes = (text: string) => text.split('.').map((piece) => Buffer.from(piece, 'base64url').toString('hex'));
  return bytes(one).join('.') === bytes(other).join('.');
}
