/**
 * Of which era a message is.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#compatibility-matrix
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  batchRefused,
  call,
  expectRefused,
  notification,
  request,
  result,
  sessionNotFound,
  sessionRequired,
  text,
} from '../harness/behind.ts';
import { type Headers, send } from '../harness/client.ts';
import { connectLegacy, initialize, modern, modernHeaders, modernMeta } from '../harness/eras.ts';
import { mismatch, missing, otherThanBody, withHeaders } from '../modern/setup.ts';
import { type House, launchHouse, tool } from './house.ts';

let house: House;
beforeAll(async () => {
  house = await launchHouse();
});
afterAll(() => house.close());
beforeEach(() => house.forget());

const missingMeta = {
  code: -32602,
  message: '_meta must have io.modelcontextprotocol/protocolVersion',
  reason: 'missing_meta',
};
const listing = modern({ id: 'x', method: 'tools/list' });

describe('a request whose `_meta` names a revision', verifies('gateway:era:meta-is-modern'), () => {
  it('is modern: it is served without a session, and gets none', async () => {
    const answer = await send(house.at('/modern/mcp'), listing);
    expect(answer.status).toBe(200);
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(answer.json()).toEqual({
      jsonrpc: '2.0',
      id: 'x',
      result: { resultType: 'complete', tools: [tool], ttlMs: 0, cacheScope: 'private' },
    });
  });

  it('is modern in a legacy session, too', async () => {
    const client = await connectLegacy(house.at('/modern/mcp'));
    const answer = await send(client.url, withHeaders(listing, { 'mcp-session-id': client.session }));
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(answer.json().result.resultType).toBe('complete');
    const legacy = await client.post(request('x', 'tools/list'));
    expect(legacy.json().result.resultType).toBeUndefined();
  });

  it('is modern even where it is `initialize`', async () => {
    const call = modern({ id: 'x', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } });
    expectRefused(await send(house.at('/legacy/mcp'), call), 404, {
      code: -32601,
      message: 'Method not found',
      reason: 'method_removed',
      data: { method: 'initialize' },
      id: 'x',
    });
    expect(house.legacy.bytes).toBe(0);
  });

  it.each([
    { name: 'no version', version: undefined, what: missing },
    { name: 'a legacy version', version: '2025-11-25', what: otherThanBody },
    { name: 'an unknown version', version: '1900-01-01', what: otherThanBody },
    { name: 'an empty version', version: '', what: otherThanBody },
  ])('is refused with $name in the header, in or out of a session', async ({ version, what }) => {
    const { client } = await house.connect('/legacy/mcp');
    const bare = withHeaders(listing, { 'mcp-protocol-version': version });
    const inSession = withHeaders(bare, { 'mcp-session-id': client.session });
    for (const one of [bare, inSession]) {
      expectRefused(await send(client.url, one), 400, mismatch('MCP-Protocol-Version', what, 'x'));
    }
    expect(house.legacy.bytes).toBe(0);
  });
});

describe('`initialize` without a modern envelope', verifies('gateway:era:initialize-is-legacy'), () => {
  const versions: readonly { name: string; headers: Headers }[] = [
    { name: 'no version header', headers: {} },
    { name: 'a legacy version header', headers: { 'mcp-protocol-version': '2025-11-25' } },
    { name: 'a header with an unknown version', headers: { 'mcp-protocol-version': '1900-01-01' } },
  ];
  it.each(versions)('opens a session that serves, with $name', async ({ headers }) => {
    const url = house.at('/legacy/mcp');
    const answer = await send(url, { body: initialize(), headers });
    expect(answer.status).toBe(200);
    const session = answer.headers['mcp-session-id'];
    expect(session).toMatch(/^[\x21-\x7e]{22,}$/);
    expect(answer.json()).toMatchObject({ jsonrpc: '2.0', id: 'init', result: { protocolVersion: '2025-11-25' } });
    const pong = await send(url, { body: request(1, 'ping'), headers: { 'mcp-session-id': String(session) } });
    expect(pong.json()).toEqual(result(1, {}));
  });

  it('is legacy with a `_meta` that names no revision', async () => {
    const { params, ...rest } = initialize() as { params: object };
    const body = { ...rest, params: { ...params, _meta: { progressToken: 0, 'example.com/x': 1 } } };
    const answer = await send(house.at('/legacy/mcp'), { body });
    expect(answer.headers['mcp-session-id']).toBeDefined();
  });
});

describe('a request with a modern version header and no envelope', () => {
  const bodies = [
    { name: 'no params', body: request('x', 'tools/list') },
    { name: 'an empty `_meta`', body: request('x', 'tools/list', { _meta: {} }) },
    {
      name: 'a `_meta` that lacks the version alone',
      body: request('x', 'tools/list', {
        _meta: modernMeta({}, { 'io.modelcontextprotocol/protocolVersion': undefined }),
      }),
    },
    { name: '`initialize`', body: { ...initialize(), id: 'x' } },
  ];
  describe.each(bodies)('$name', verifies('gateway:era:modern-header-without-meta'), ({ body }) => {
    const { method } = body as { method: string };
    it.each([
      { name: 'with all headers', headers: modernHeaders(method) },
      { name: 'with that header alone', headers: { 'mcp-protocol-version': '2026-07-28' } },
    ])('$name', async ({ headers }) => {
      expectRefused(await send(house.at('/modern/mcp'), { body, headers }), 400, { ...missingMeta, id: 'x' });
      expect(house.modern.bytes).toBe(0);
    });
  });

  it('in a live legacy session', verifies('gateway:era:modern-header-without-meta'), async () => {
    const { client } = await house.connect('/legacy/mcp');
    const answer = await client.post(request('x', 'tools/list'), modernHeaders('tools/list'));
    expectRefused(answer, 400, { ...missingMeta, id: 'x' });
    expect(house.legacy.bytes).toBe(0);
  });
});

describe('a request with neither', verifies('gateway:era:legacy-by-session'), () => {
  it('belongs to the legacy session that it names', async () => {
    const sessions = [await house.connect('/legacy/mcp'), await house.connect('/legacy/mcp')];
    for (const [index, { client }] of sessions.entries()) {
      const body = call(index, { n: index });
      const answer = await send(client.url, { body, headers: { 'mcp-session-id': client.session } });
      expect(answer.json().result).toMatchObject(text(JSON.stringify({ n: index })));
    }
    const named = house.legacy.of('tools/call').map(({ headers }) => headers['mcp-session-id']);
    expect(named).toEqual(sessions.map(({ upstream }) => upstream));
    expect(new Set(named).size).toBe(2);
  });

  it.each([
    { name: 'with a version header', headers: { 'mcp-protocol-version': '2025-11-25' } },
    { name: 'without', headers: {} },
  ])('and to no session if it names none, or an unknown one, $name', async ({ headers }) => {
    const url = house.at('/legacy/mcp');
    const body = request('x', 'tools/list');
    expectRefused(await send(url, { body, headers }), 400, { ...sessionRequired, id: 'x' });
    const unknown = { ...headers, 'mcp-session-id': 'nobody' };
    expectRefused(await send(url, { body, headers: unknown }), 404, { ...sessionNotFound, id: 'x' });
    expect(house.legacy.bytes).toBe(0);
  });
});

describe('a notification or a response', verifies('gateway:era:notification-by-header'), () => {
  const changed = notification('notifications/roots/list_changed');

  it('is modern if its header says so, whatever session it names', async () => {
    const { client } = await house.connect('/legacy/mcp', { capabilities: { roots: { listChanged: true } } });
    for (const headers of [{}, { 'mcp-session-id': client.session }, { 'mcp-session-id': 'nobody' }]) {
      const version = { ...headers, 'mcp-protocol-version': '2026-07-28' };
      const accepted = await send(client.url, { body: changed, headers: version });
      expect({ status: accepted.status, body: accepted.body }).toEqual({ status: 202, body: '' });
      expectRefused(await send(client.url, { body: result(1, {}), headers: version }), 400, {
        code: -32600,
        message: 'Responses are not accepted in this revision',
        reason: 'response_not_expected',
      });
    }
    // The next one is the first that the backend hears of.
    await client.post(call(1));
    expect(house.legacy.received.map(({ message }) => message.method)).toEqual(['tools/call']);
  });

  it.each([
    { name: 'with a legacy version header', headers: { 'mcp-protocol-version': '2025-11-25' } },
    { name: 'without one', headers: {} },
  ])('belongs otherwise to the legacy session that it names, $name', async ({ headers }) => {
    const { client, upstream } = await house.connect('/legacy/mcp', { capabilities: { roots: { listChanged: true } } });
    const named = { ...headers, 'mcp-session-id': client.session };
    for (const body of [changed, result(1, {})]) {
      expect((await send(client.url, { body, headers: named })).status).toBe(202);
      expectRefused(await send(client.url, { body, headers }), 400, sessionRequired);
      const foreign = { ...headers, 'mcp-session-id': 'nobody' };
      expectRefused(await send(client.url, { body, headers: foreign }), 404, sessionNotFound);
    }
    const heard = await house.legacy.arrival('notifications/roots/list_changed');
    expect(heard.headers['mcp-session-id']).toBe(upstream);
    expect(house.legacy.of('notifications/roots/list_changed')).toHaveLength(1);
  });
});

describe('an array', verifies('gateway:era:array-by-header'), () => {
  /** Members of both eras, and one that is no message: whoever looked at them would be of another mind. */
  const members = [call(1, { n: 1 }), { ...call(2), params: { _meta: modernMeta() } }];

  it('is modern if its header says so, in a session that has batches', async () => {
    const { client } = await house.connect('/batches/mcp', { revision: '2025-03-26' });
    for (const body of [members, '[{"not":', '[]']) {
      const answer = await client.post(body, { 'mcp-protocol-version': '2026-07-28' });
      expectRefused(answer, 400, batchRefused);
    }
    expect(house.legacy.bytes).toBe(0);
  });

  it('belongs otherwise to the session that it names, though a member has a modern envelope', async () => {
    const { client } = await house.connect('/batches/mcp', { revision: '2025-03-26' });
    const answer = await send(client.url, { body: members, headers: { 'mcp-session-id': client.session } });
    expect(answer.status).toBe(200);
    expect(answer.json().map(({ id }: { id: number }) => id)).toEqual([1, 2]);
    const without = await send(client.url, { body: members });
    expectRefused(without, 400, sessionRequired);
    const later = await house.connect('/batches/mcp', { revision: '2025-11-25' });
    expectRefused(await later.client.post(members), 400, batchRefused);
  });
});
