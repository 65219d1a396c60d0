/** What the gateway does with the schemas of a backend's tools, and what it leaves alone. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, call, request, result, text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';

const annotated = (properties: object) => ({ type: 'object', properties });
const header = (name: unknown, type: string = 'string') => ({ type, 'x-mcp-header': name });

const good = {
  name: 'good',
  inputSchema: annotated({
    region: header('Region'),
    nested: annotated({ count: header('Count', 'integer'), dry: header('Dry', 'boolean') }),
  }),
};
const plain = {
  name: 'plain',
  inputSchema: { type: 'object', default: { 'x-mcp-header': 'data, and no annotation' } },
};
const bad = [
  { name: 'empty', inputSchema: annotated({ a: header('') }) },
  { name: 'with_space', inputSchema: annotated({ a: header('My Header') }) },
  { name: 'with_colon', inputSchema: annotated({ a: header('A:B') }) },
  { name: 'not_ascii', inputSchema: annotated({ a: header('Größe') }) },
  { name: 'no_string', inputSchema: annotated({ a: header(7) }) },
  { name: 'twice', inputSchema: annotated({ a: header('Same'), b: header('sAME') }) },
  { name: 'a_number', inputSchema: annotated({ a: header('A', 'number') }) },
  { name: 'an_object', inputSchema: annotated({ a: header('A', 'object') }) },
  { name: 'no_type', inputSchema: annotated({ a: { 'x-mcp-header': 'A' } }) },
  { name: 'in_items', inputSchema: annotated({ a: { type: 'array', items: header('A') } }) },
  { name: 'in_any_of', inputSchema: { type: 'object', anyOf: [annotated({ a: header('A') })] } },
  { name: 'in_defs', inputSchema: { type: 'object', $defs: { x: header('A') } } },
  { name: 'at_the_root', inputSchema: { type: 'object', 'x-mcp-header': 'A' } },
];

describe('a tool whose x-mcp-header breaks the rules', verifies('gateway:backend:bad-header-annotation'), () => {
  const tools = [good, ...bad, plain];

  it('is left out of the list for clients of both eras, the others stay unchanged, and it is logged', async () => {
    const { url, gateway } = await behindModern({
      'tools/list': (turn) =>
        turn.result({ resultType: 'complete', tools, nextCursor: 'more', ttlMs: 5, cacheScope: 'public' }),
    });
    const listed = await send(url, modern({ id: 1, method: 'tools/list' }));
    expect(listed.json()).toEqual(
      result(1, { resultType: 'complete', tools: [good, plain], nextCursor: 'more', ttlMs: 5, cacheScope: 'public' }),
    );
    const warned = gateway.log.filter(({ level }) => level === 'warn');
    expect(warned.map(({ facts }) => facts.tool)).toEqual(bad.map(({ name }) => name));
    for (const { facts } of warned) expect(facts.why).toMatch(/^x-mcp-header /);
    const client = await connectLegacy(url);
    const old = await client.post(request(2, 'tools/list'));
    expect(old.json()).toEqual(result(2, { tools: [good, plain], nextCursor: 'more' }));
  });
});

describe('a $ref into the network', verifies('gateway:backend:network-ref'), () => {
  it('is never fetched, whatever is listed, called or checked', async () => {
    let fetched = 0;
    const elsewhere = createServer((_, response) => response.end('{}'));
    elsewhere.on('connection', () => {
      fetched += 1;
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      elsewhere.closeAllConnections();
      elsewhere.close();
    });
    const $ref = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/schema.json`;
    const tool = {
      name: 'work',
      inputSchema: {
        $schema: $ref,
        type: 'object',
        $ref,
        properties: { region: header('Region'), other: { $ref }, dynamic: { $dynamicRef: $ref } },
        allOf: [{ $ref }],
      },
      outputSchema: { type: 'object', $ref },
    };
    const content = { ...text('{}'), structuredContent: {} };
    const { url } = await behindModern({
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [tool], ttlMs: 0, cacheScope: 'private' }),
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...content }),
    });
    const params = { name: 'work', arguments: { region: 'eu', other: 1 } };
    const listed = await send(url, modern({ id: 1, method: 'tools/list' }));
    expect(listed.json().result.tools).toEqual([tool]);
    const called = await send(
      url,
      modern({ id: 2, method: 'tools/call', params, headers: { 'mcp-param-region': 'eu' } }),
    );
    expect(called.json()).toMatchObject(result(2, content));
    const refused = await send(
      url,
      modern({ id: 3, method: 'tools/call', params, headers: { 'mcp-param-region': 'us' } }),
    );
    expect(refused.json()).toMatchObject({ id: 3, error: { code: -32020 } });
    const client = await connectLegacy(url);
    expect((await client.post(request(4, 'tools/list'))).json().result.tools).toEqual([tool]);
    expect(fetched).toBe(0);
  });

  it('of a legacy backend is not fetched either', async () => {
    let fetched = 0;
    const { url, backend } = await behindLegacy({
      'tools/list': (turn) => {
        const $ref = backend.url.replace('/mcp', '/schema.json');
        turn.result({ tools: [{ name: 'work', inputSchema: { type: 'object', $ref }, outputSchema: { $ref } }] });
      },
      'tools/call': (turn) => turn.result({ ...text('{}'), structuredContent: {} }),
      GET: (turn) => {
        fetched += turn.received.headers['mcp-session-id'] === undefined ? 1 : 0;
        turn.stream();
      },
    });
    const client = await connectLegacy(url);
    await client.post(request(1, 'tools/list'));
    expect((await client.post(call(2))).json()).toMatchObject({ id: 2, result: { structuredContent: {} } });
    expect(fetched).toBe(0);
  });
});
