/**
 * Pages in browsers: which of them may speak to us, and what they can read.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, expectRefused, notification } from '../harness/behind.ts';
import { type Call, type Headers, open, send } from '../harness/client.ts';
import { initialize, type LegacyClient, modern, modernHeaders } from '../harness/eras.ts';
import { withHeaders } from '../modern/setup.ts';
import { faultLimits, faults } from './faults.ts';
import { type House, launchHouse } from './house.ts';

const page = 'https://app.example';
const local = 'http://localhost:6274';
const legacyMethods = 'GET, POST, DELETE, OPTIONS';
const everyHeader = [
  'accept',
  'authorization',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'Mcp-Param-Region',
  'MCP-Protocol-Version',
  'mcp-session-id',
].join(', ');

let house: House;
let live: LegacyClient;
beforeAll(async () => {
  house = await launchHouse({
    limits: faultLimits,
    listen: { allowedOrigins: [page], allowedHosts: ['gateway.example'] },
  });
});
afterAll(() => house.close());
beforeEach(async () => {
  live ??= (await house.connect('/legacy/mcp')).client;
  house.forget();
});

function preflight(path: string, asked: string | undefined, origin = page): Promise<Awaited<ReturnType<typeof send>>> {
  return send(house.at(path), {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      ...(asked === undefined ? {} : { 'access-control-request-headers': asked }),
    },
  });
}

function corsOf(headers: Readonly<Record<string, unknown>>): object {
  const named = Object.entries(headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary');
  return Object.fromEntries(named);
}

describe('a preflight from an allowed origin', verifies('gateway:http:preflight'), () => {
  const paths = [
    { path: '/legacy/mcp', methods: legacyMethods },
    { path: '/modern-only/mcp', methods: 'POST, OPTIONS' },
    { path: '/legacy/sse', methods: 'GET, OPTIONS' },
    { path: '/legacy/messages', methods: 'POST, OPTIONS' },
  ];
  for (const { path, methods } of paths) {
    it.each([page, local])(`is granted the requested headers at ${path}, by %s`, async (origin) => {
      const answer = await preflight(path, everyHeader, origin);
      expect({ status: answer.status, body: answer.body }).toEqual({ status: 204, body: '' });
      expect(corsOf(answer.headers)).toEqual({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': methods,
        'access-control-allow-headers': everyHeader,
        'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate',
        'access-control-max-age': '600',
        vary: 'Origin',
      });
      expect(house.legacy.bytes + house.modern.bytes).toBe(0);
    });
  }

  it('is granted none if it requests none', async () => {
    const answer = await preflight('/legacy/mcp', undefined);
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-headers']).toBeUndefined();
  });
});

describe('a preflight for headers that no MCP request has', verifies('gateway:http:preflight-unknown-header'), () => {
  it.each([
    {
      name: 'an unknown one among known ones',
      asked: 'content-type, x-anything, mcp-name',
      granted: 'content-type, mcp-name',
    },
    {
      name: 'one that looks like a header of the gateway',
      asked: 'mcp-secret, mcp-params-x, x-mcp-name',
      granted: undefined,
    },
    { name: 'all of them', asked: '*', granted: undefined },
    { name: 'a parameter without a name', asked: 'mcp-param-', granted: undefined },
    { name: 'cookies', asked: 'cookie, set-cookie', granted: undefined },
  ])('is not granted $name', async ({ asked, granted }) => {
    const answer = await preflight('/legacy/mcp', asked);
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-headers']).toBe(granted);
  });
});

describe('every answer can be read by an allowed origin', verifies('gateway:http:cors-everywhere'), () => {
  const readable = {
    'access-control-allow-origin': page,
    'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate',
    vary: 'Origin',
  };

  interface Answered {
    readonly name: string;
    readonly path?: string;
    readonly call: Call | (() => Call);
    readonly status: number;
  }
  const answers: readonly Answered[] = [
    { name: 'a session', call: { body: initialize() }, status: 200 },
    { name: 'a result', path: '/modern/mcp', call: modern({ method: 'tools/list' }), status: 200 },
    {
      name: 'a result in a stream',
      path: '/modern/mcp',
      call: withHeaders(modern({ method: 'tools/list' }), { accept: 'text/event-stream' }),
      status: 200,
    },
    {
      name: 'an accepted notification',
      call: () => ({ body: notification('notifications/x'), headers: live.headers }),
      status: 202,
    },
    { name: 'the state of the gateway', path: '/readyz', call: { method: 'GET' }, status: 200 },
    ...faults
      .filter(({ refusal }) => refusal.reason !== 'origin_not_allowed')
      .map(({ name, path, call, status }) => ({ name, path, call: () => call('7', live), status })),
  ];
  for (const { name, path = '/legacy/mcp', call, status } of answers) {
    it(name, async () => {
      const answer = await send(
        house.at(path),
        withHeaders(typeof call === 'function' ? call() : call, { origin: page }),
      );
      expect(answer.status).toBe(status);
      expect(corsOf(answer.headers)).toEqual(readable);
    });
  }

  it('the standalone stream, and the end of a session', async () => {
    const { client } = await house.connect('/legacy/mcp');
    const stream = await client.listen({ origin: page });
    expect(stream.status).toBe(200);
    expect(corsOf(stream.headers)).toEqual(readable);
    const ended = await send(client.url, { method: 'DELETE', headers: { ...client.headers, origin: page } });
    expect(ended.status).toBe(204);
    expect(corsOf(ended.headers)).toEqual(readable);
  });

  it('the stream of HTTP+SSE', async () => {
    const stream = await open(house.at('/legacy/sse'), { method: 'GET', headers: { origin: page } });
    expect(stream.status).toBe(200);
    expect(corsOf(stream.headers)).toEqual(readable);
  });

  it('and a client without Origin gets no CORS header', async () => {
    const answer = await send(house.at('/modern/mcp'), modern({ method: 'tools/list' }));
    expect(corsOf(answer.headers)).toEqual({});
  });
});

const everyWay: readonly { name: string; path: string; call: Call }[] = [
  { name: 'a legacy request', path: '/legacy/mcp', call: { body: initialize() } },
  { name: 'a modern request', path: '/modern/mcp', call: modern({ method: 'tools/list' }) },
  { name: 'a notification', path: '/modern/mcp', call: { body: notification('x'), headers: modernHeaders('x') } },
  { name: 'a stream', path: '/legacy/mcp', call: { method: 'GET' } },
  { name: 'the end of a session', path: '/legacy/mcp', call: { method: 'DELETE' } },
  { name: 'a preflight', path: '/legacy/mcp', call: { method: 'OPTIONS' } },
  { name: 'a stream of HTTP+SSE', path: '/legacy/sse', call: { method: 'GET' } },
  { name: 'a message of HTTP+SSE', path: '/legacy/messages', call: { body: call(1) } },
];

async function expectForbidden(path: string, call: Call, headers: Headers, why: { message: string; reason: string }) {
  const answer = await send(house.at(path), withHeaders(call, headers));
  expectRefused(answer, 403, { code: -32600, ...why });
  expect(house.legacy.bytes + house.modern.bytes).toBe(0);
  return answer;
}

describe('an origin that is not allowed', verifies('gateway:http:origin-refused'), () => {
  const why = { message: 'Origin not allowed', reason: 'origin_not_allowed' };
  it.each(everyWay)('is refused for $name', async ({ path, call }) => {
    const answer = await expectForbidden(path, call, { origin: 'https://evil.example' }, why);
    expect(corsOf(answer.headers)).toEqual({});
  });

  it.each([
    'null',
    '',
    'http://localhost.evil.example',
    'http://localhost:80@evil.example',
    'http://127.0.0.1.evil.example',
    'https://app.example.evil.example',
    'https://app.example:8443',
    'http://app.example',
    'file://',
  ])('is refused as %j', async (origin) => {
    await expectForbidden('/modern/mcp', modern({ method: 'tools/list' }), { origin }, why);
  });

  it.each([page, 'HTTPS://APP.EXAMPLE', local, 'http://127.0.0.1', 'https://[::1]:8443'])(
    'is not %s',
    async (origin) => {
      const answer = await send(house.at('/modern/mcp'), withHeaders(modern({ method: 'tools/list' }), { origin }));
      expect(answer.status).toBe(200);
    },
  );
});

describe('an unknown host', verifies('gateway:http:host-refused'), () => {
  const why = { message: 'Host not allowed', reason: 'host_not_allowed' };
  it.each(everyWay)('is refused for $name', async ({ path, call }) => {
    await expectForbidden(path, call, { host: 'evil.example' }, why);
  });

  it.each([
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'gateway.example.evil.example',
    '127.0.0.1@evil.example',
    '0.0.0.0',
  ])('is rejected as %s, also after a known host', async (host) => {
    const listing = modern({ method: 'tools/list' });
    expect((await send(house.at('/modern/mcp'), listing)).status).toBe(200);
    house.forget();
    await expectForbidden('/modern/mcp', listing, { host }, why);
  });

  it.each(['localhost', 'LOCALHOST:1', '[::1]:3000', 'gateway.example', 'gateway.example:8443'])(
    'is not %s',
    async (host) => {
      const answer = await send(house.at('/modern/mcp'), withHeaders(modern({ method: 'tools/list' }), { host }));
      expect(answer.status).toBe(200);
    },
  );
});

describe('a path without an endpoint', verifies('gateway:http:unknown-path'), () => {
  const unknown = { code: -32600, message: 'No endpoint at this path', reason: 'path_not_found' };
  it.each([
    '/',
    '/mcp',
    '/legacy',
    '/legacy/mcp//',
    '/Legacy/mcp',
    '/servers/legacy/mcp',
    '/modern-only/sse',
    '//legacy/mcp',
  ])('%s', async (path) => {
    // A client that has a session must not take it for lost.
    const { headers } = live;
    for (const said of [{ body: initialize() }, { body: call(1), headers }, { method: 'GET', headers }]) {
      expectRefused(await send(house.at(path), said), 404, unknown);
    }
    expect(house.legacy.bytes + house.modern.bytes).toBe(0);
  });
});
