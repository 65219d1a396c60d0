/** What spans say: names, attributes and status by the conventions, and nothing that is secret. */
import { describe, expect, it } from 'vitest';
import type { Audit, AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { allRevisions, Held } from '../harness/behind.ts';
import { open, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { readTraceparent, startTraced } from './setup.ts';

const secret = 'hunter2';
const UNSET = 0;
const ERROR = 2;

const fine = (turn: Turn): void => turn.result({ resultType: 'complete', content: [{ type: 'text', text: secret }] });
const answers: Readonly<Record<string, (turn: Turn) => void>> = {
  fine,
  failing: (turn) => turn.result({ resultType: 'complete', content: [], isError: true }),
  refused: (turn) => turn.error(-32602, 'no such argument'),
  cut: (turn) => turn.cut(),
};

async function serving(endpoint: object = {}, more: object = {}) {
  const backend = await modernBackend({
    'tools/call': (turn) => (answers[turn.message.params.name] ?? fine)(turn),
    'resources/read': (turn) => turn.result({ resultType: 'complete', contents: [] }),
  });
  const endpoints = [{ path: '/mcp', ...endpoint }];
  const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url } }, endpoints, ...more });
  return { url: gateway.url(), spans, backend };
}

function call(name: string): ReturnType<typeof modern> {
  return modern({ id: 'a1', method: 'tools/call', params: { name, arguments: { password: secret } } });
}

describe('the status of a span', verifies('gateway:traces:spans'), () => {
  const rows = [
    { name: 'fine', status: { code: UNSET, message: '' }, server: undefined, client: undefined },
    { name: 'failing', status: { code: ERROR, message: '' }, server: 'tool_error', client: 'tool_error' },
    { name: 'refused', status: { code: ERROR, message: 'no such argument' }, server: '-32602', client: '-32602' },
    { name: 'cut', status: { code: ERROR }, server: '-32603', client: 'backend_unavailable' },
  ];
  it.each(rows)('of a call that is $name', async ({ name, status, server, client }) => {
    const { url, spans } = await serving();
    await send(url, call(name));
    const collected = await spans();
    const served = collected.only(`tools/call ${name}`, 'server');
    const sent = collected.only(`tools/call ${name}`, 'client');
    expect(served.status).toMatchObject(status);
    expect(sent.status).toMatchObject(status);
    expect(served.attributes['error.type']).toBe(server);
    expect(sent.attributes['error.type']).toBe(client);
    expect(served.attributes['rpc.response.status_code']).toBe(server?.startsWith('-') ? server : undefined);
  });

  it('of a request that no backend got has the code of the error', async () => {
    const { url, spans, backend } = await serving();
    await send(url, modern({ id: 3, method: 'nonsense/method', params: {} }));
    const served = (await spans()).only('nonsense/method', 'server');
    expect(served).toMatchObject({ status: { code: ERROR }, attributes: { 'error.type': '-32601' } });
    expect(backend.of('nonsense/method')).toEqual([]);
  });
});

describe('the attributes of a span', verifies('gateway:traces:spans'), () => {
  it('are those of the conventions, and never arguments or results', async () => {
    const { url, spans } = await serving();
    await send(url, call('fine'));
    const collected = await spans();
    expect(collected.only('tools/call fine', 'server')).toMatchObject({
      service: 'bascule',
      schemaUrl: 'https://opentelemetry.io/schemas/1.41.0',
      attributes: {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': '2026-07-28',
        'gen_ai.tool.name': 'fine',
        'gen_ai.operation.name': 'execute_tool',
        'jsonrpc.request.id': 'a1',
        'network.transport': 'tcp',
        'network.protocol.name': 'http',
        'client.address': '127.0.0.1',
        'bascule.endpoint': '/mcp',
        'bascule.generation': 1,
        'bascule.decision': 'allow',
        'bascule.outcome': 'result',
      },
    });
    expect(collected.only('tools/call fine', 'client').attributes).toMatchObject({
      'server.address': '127.0.0.1',
      'server.port': expect.any(Number),
      'bascule.backend': 'b',
    });
    expect(JSON.stringify(collected.spans)).not.toContain(secret);
  });

  it('have the URI of a resource without its query, which the name does not have', async () => {
    const { url, spans } = await serving();
    const uri = `https://ada:${secret}@files.example/a?token=${secret}`;
    await send(url, modern({ method: 'resources/read', params: { uri } }));
    const collected = await spans();
    expect(collected.only('resources/read', 'server').attributes['mcp.resource.uri']).toBe('https://files.example/a');
    expect(JSON.stringify(collected.spans)).not.toContain(secret);
  });

  it.each(['error', 'http403', 'hide'])('have the rule that denied a request, with `denials: %s`', async (denials) => {
    const { url, spans } = await serving(
      { denials },
      { policy: { rules: [{ id: 'no-calls', effect: 'deny', what: ['call'] }] } },
    );
    await send(url, call('fine'));
    const served = (await spans()).only('tools/call fine', 'server');
    expect(served.attributes).toMatchObject({ 'bascule.decision': 'deny', 'bascule.rule': ['no-calls'] });
  });

  it('are cut where clients send long names', async () => {
    const { url, spans } = await serving();
    await send(url, call('x'.repeat(10_000)));
    const called = (await spans()).spans.filter(({ name }) => name.startsWith('tools/call'));
    expect(called).toHaveLength(2);
    for (const { name, attributes } of called) {
      expect(name.length).toBeLessThanOrEqual(128);
      expect(String(attributes['gen_ai.tool.name'])).toHaveLength(128);
    }
  });

  it('tell sessions apart without their ids', async () => {
    const backend = await legacyBackend();
    const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url());
    await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const collected = await spans();
    expect(collected.only('ping', 'server').attributes['mcp.session.id']).toMatch(/^[\w-]{16}$/);
    expect(JSON.stringify(collected.spans)).not.toContain(client.session);
  });
});

describe('one span for each message', verifies('gateway:traces:parents'), () => {
  it('of a batch, notifications included', async () => {
    const backend = await legacyBackend({ 'tools/call': (turn) => turn.result({ content: [] }) });
    const { gateway, spans } = await startTraced({
      backends: { b: { url: backend.url } },
      endpoints: [{ path: '/mcp', ...allRevisions }],
    });
    const client = await connectLegacy(gateway.url(), { revision: '2025-03-26', capabilities: { roots: {} } });
    const one = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: `t${id}` } });
    await client.post([one(1), { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }, one(2)]);
    const { message } = await backend.arrival('notifications/roots/list_changed');
    const collected = await spans();
    for (const name of ['tools/call t1', 'tools/call t2', 'notifications/roots/list_changed']) {
      const { spanId } = collected.only(name, 'server');
      expect(collected.only(name, 'client').parentId).toBe(spanId);
    }
    const { spanId } = collected.only('notifications/roots/list_changed', 'client');
    expect(readTraceparent(message.params._meta.traceparent).spanId).toBe(spanId);
  });

  it('to each backend of a merged list', async () => {
    const listing = { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' };
    const script = { 'tools/list': (turn: Turn) => turn.result(listing) };
    const [a, b] = [await modernBackend(script), await modernBackend(script)];
    const { gateway, spans } = await startTraced({ backends: { a: { url: a.url }, b: { url: b.url } } });
    await send(gateway.url(), modern({ method: 'tools/list' }));
    const { only, spans: all } = await spans();
    const sent = all.filter(({ name, kind }) => name === 'tools/list' && kind === 'client');
    expect(sent.map(({ attributes }) => attributes['bascule.backend']).sort()).toEqual(['a', 'b']);
    for (const { parentId } of sent) expect(parentId).toBe(only('tools/list', 'server').spanId);
  });

  it('of a subscription, which ends with its acknowledgement', async () => {
    const held = new Held();
    const backend = await modernBackend({ 'subscriptions/listen': held.take });
    const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url } } });
    const params = { notifications: { toolsListChanged: true } };
    const stream = await open(gateway.url(), modern({ id: 's', method: 'subscriptions/listen', params }));
    const turn = await held.nth(1);
    const _meta = { 'io.modelcontextprotocol/subscriptionId': turn.message.id };
    const method = 'notifications/subscriptions/acknowledged';
    turn.stream().event({ jsonrpc: '2.0', method, params: { _meta, ...params } });
    await stream.event(() => true);
    const before = Date.now() * 1e6;
    const collected = await spans();
    const served = collected.only('subscriptions/listen', 'server');
    expect(served).toMatchObject({ status: { code: UNSET }, attributes: { 'bascule.outcome': 'result' } });
    expect(collected.only('subscriptions/listen', 'client').parentId).toBe(served.spanId);
    expect(served.end).toBeLessThanOrEqual(before + 2e6);
  });
});

it('the audit record names the trace that is exported', verifies('gateway:traces:context'), async () => {
  const records: AuditRecord[] = [];
  const audit: Audit = { write: (record) => void records.push(record), close: async () => undefined };
  const backend = await modernBackend({ 'tools/call': fine });
  const config = { backends: { b: { url: backend.url } }, audit: { to: 'stderr' } };
  const { gateway, spans } = await startTraced(config, {}, { audit });
  await send(gateway.url(), call('fine'));
  const { traceId } = (await spans()).only('tools/call fine', 'server');
  expect(records.map((record) => record.traceId)).toEqual([traceId]);
});
