/** Spans of requests that no single client sent, and of calls that a client gave up. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { cancelled, Held, request } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { readTraceparent, startTraced } from './setup.ts';

const UNSET = 0;
const ERROR = 2;

const listing = { resultType: 'complete', tools: [], ttlMs: 60_000, cacheScope: 'public' };

it(
  'server/discover of the gateway is a span of a trace of its own, with what is known of the backend',
  verifies('gateway:traces:own-requests'),
  async () => {
    const backend = await modernBackend({ 'tools/list': (turn: Turn) => turn.result(listing) });
    const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url } } });
    await send(gateway.url(), modern({ method: 'tools/list' }));
    const collected = await spans();
    const discovered = collected.only('server/discover', 'client');
    expect(discovered).toMatchObject({
      parentId: '',
      status: { code: UNSET },
      attributes: {
        'mcp.method.name': 'server/discover',
        'jsonrpc.request.id': expect.stringMatching(/^[\w-]{16}$/),
        'bascule.backend': 'b',
        'server.address': '127.0.0.1',
      },
    });
    expect(discovered.traceId).not.toBe(collected.only('tools/list', 'server').traceId);
  },
);

it(
  'a legacy backend has spans of both: server/discover, which it refused, and each initialize',
  verifies('gateway:traces:own-requests'),
  async () => {
    const backend = await legacyBackend();
    const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url } } });
    await connectLegacy(gateway.url());
    const { spans: all, only } = await spans();
    expect(only('server/discover', 'client').status.code).toBe(ERROR);
    const opened = all.filter(({ name, kind }) => name === 'initialize' && kind === 'client');
    expect(opened).toHaveLength(backend.of('initialize').length);
    for (const { parentId, status } of opened)
      expect({ parentId, code: status.code }).toEqual({ parentId: '', code: UNSET });
  },
);

it('an opening without an answer is a failed span', verifies('gateway:traces:own-requests'), async () => {
  const backend = await modernBackend({ 'server/discover': (turn: Turn) => turn.cut() });
  const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url } } });
  await send(gateway.url(), modern({ method: 'tools/list' }));
  const failed = (await spans()).spans.filter(({ name }) => name === 'server/discover');
  expect(failed.length).toBeGreaterThan(0);
  for (const { status } of failed) expect(status.code).toBe(ERROR);
});

it('none is exported where no trace is sampled', verifies('gateway:traces:own-requests'), async () => {
  const backend = await modernBackend({ 'tools/list': (turn: Turn) => turn.result(listing) });
  const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url } } }, { sample: 0 });
  await send(gateway.url(), modern({ method: 'tools/list' }));
  expect((await spans()).spans).toEqual([]);
});

it(
  'a call that its client cancelled is a span on both sides, without an error',
  verifies('gateway:traces:parents'),
  async () => {
    const held = new Held();
    const backend = await legacyBackend({ 'tools/call': held.take });
    const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url());
    const running = client.post(request(7, 'tools/call', { name: 'slow' }));
    await held.nth(1);
    await client.post(cancelled(7));
    const { message } = await backend.arrival('notifications/cancelled');
    await running;
    const collected = await spans();
    const served = collected.only('tools/call slow', 'server');
    const sent = collected.only('tools/call slow', 'client');
    expect(served.attributes['bascule.outcome']).toBe('cancelled');
    expect(sent).toMatchObject({ parentId: served.spanId, status: { code: UNSET } });
    expect(message.params.requestId).toBe(sent.attributes['jsonrpc.request.id']);
  },
);

it(
  'a backend is told the trace of a list that the gateway reads',
  verifies('gateway:traces:own-requests'),
  async () => {
    const [a, b] = [
      await modernBackend({ 'tools/list': (turn: Turn) => turn.result(listing) }),
      await modernBackend({ 'tools/list': (turn: Turn) => turn.result(listing) }),
    ];
    const { gateway, spans } = await startTraced({ backends: { a: { url: a.url }, b: { url: b.url } } });
    await send(gateway.url(), modern({ method: 'tools/list' }));
    const [read] = a.of('tools/list');
    const told = readTraceparent(read?.message.params._meta.traceparent);
    const found = (await spans()).spans.find(({ spanId }) => spanId === told.spanId);
    expect(found).toMatchObject({ name: 'tools/list', kind: 'client', traceId: told.traceId });
  },
);
