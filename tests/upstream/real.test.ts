/** The adapters with real servers at the other end, over real sockets and pipes. */
import { devNull } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/app/clock.ts';
import type { BackendConfig } from '../../src/config/config.ts';
import { settleLimits } from '../../src/config/limits.ts';
import type { CallOutcome, CallRequest } from '../../src/exchange/call.ts';
import type { Backend } from '../../src/exchange/upstream-session.ts';
import { createBackend } from '../../src/upstream/create-backend.ts';
import type { Era } from '../../src/wire/revisions.ts';
import { compiled } from '../compiled.ts';
import { startFixture } from '../conformance/processes.ts';
import { CallRecorder, callOf, client, LaneRecorder, OddNotes, permit, told } from './support/calls.ts';

const fixture = compiled(new URL('../conformance/fixture/main.ts', import.meta.url));
const { limits } = settleLimits({});

const backends: Backend[] = [];
const addresses = new Map<string, string>();
const stops: (() => Promise<void>)[] = [];

/** Three servers from a cold start, on a machine that is busy with other tests. */
const START_MS = 60_000;

beforeAll(async () => {
  const starting = (['legacy', 'modern', 'dual'] as const).map(async (era) => {
    const { url, stop } = await startFixture(era, devNull);
    addresses.set(era, url.href);
    stops.push(stop);
  });
  await Promise.all(starting);
}, START_MS);
afterEach(async () => {
  await Promise.all(backends.splice(0).map((backend) => backend.close()));
});
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
});

function configOf(transport: 'http' | 'stdio', era: string): BackendConfig {
  if (transport === 'http') {
    return { kind: 'http', name: 'b', url: addresses.get(era) ?? '', headers: {}, transport: 'auto' };
  }
  const args = [fixture, '--era', era, '--stdio'];
  return {
    kind: 'stdio',
    name: 'b',
    command: process.execPath,
    args,
    env: {},
    share: false,
    maxProcesses: 4,
    idleMs: 60_000,
    state: 'session',
  };
}

function start(transport: 'http' | 'stdio', era: string): Backend {
  const backend = createBackend(configOf(transport, era), {
    limits,
    notes: new OddNotes(),
    version: '0',
    clock: systemClock,
  });
  backends.push(backend);
  return backend;
}

const facts = client('2025-11-25', { elicitation: {}, sampling: {} }, '{"name":"c","version":"1"}');

async function open(backend: Backend, era: Era) {
  const sink = new LaneRecorder();
  const lane = await backend.open(permit, era, facts, sink);
  lane.notify(permit, told('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
  return { lane, sink };
}

function tool(name: string, args: unknown, more: Partial<CallRequest> = {}): CallRequest {
  const params = { name, arguments: args };
  return callOf(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'tools/call', params }), { client: facts, ...more });
}

function resultOf(outcome: CallOutcome | undefined): Record<string, unknown> {
  if (outcome?.kind !== 'result') throw new TypeError(`no result: ${JSON.stringify(outcome)}`);
  return JSON.parse(Buffer.from(outcome.message.bytes).toString()).result;
}

const eras: readonly { transport: 'http' | 'stdio'; era: string; expect: readonly Era[] }[] = [
  { transport: 'http', era: 'legacy', expect: ['legacy'] },
  { transport: 'http', era: 'modern', expect: ['modern'] },
  { transport: 'http', era: 'dual', expect: ['modern', 'legacy'] },
  { transport: 'stdio', era: 'legacy', expect: ['legacy'] },
  { transport: 'stdio', era: 'modern', expect: ['modern'] },
];

describe.each(eras)('a $era server over $transport', { timeout: START_MS }, ({ transport, era, expect: wanted }) => {
  test('is recognised by its era', async () => {
    const discovery = await start(transport, era).discover();
    expect(discovery.eras).toEqual(wanted);
    expect(discovery.capabilities).toMatchObject({ tools: {} });
    expect(discovery.serverInfo?.name).toMatch(/^bascule-conformance-/);
  });

  test.each(wanted)('answers in its %s upstream session, with progress under our token', async (of) => {
    const { lane } = await open(start(transport, era), of);
    const sink = new CallRecorder();
    lane.call(permit, tool('test_tool_with_progress', {}, { progress: true }), sink);
    await sink.settled;
    const token = expect.any(String);
    expect(sink.notes.map((text) => JSON.parse(text).params)).toEqual(
      [0, 50, 100].map((progress) => ({ progressToken: token, progress, total: 100 })),
    );
    expect(resultOf(sink.outcomes[0])).toMatchObject({ content: [{ type: 'text' }] });
  });
});

describe('server requests', { timeout: START_MS }, () => {
  test.each(['http', 'stdio'] as const)(
    'a legacy server over %s sends one in the middle of a call',
    async (transport) => {
      const { lane } = await open(start(transport, 'legacy'), 'legacy');
      const sink = new CallRecorder();
      const ask = sink.ask.bind(sink);
      sink.ask = (one) => {
        ask(one);
        one.answer({ result: '{"action":"accept","content":{"username":"u","email":"e@x.y"}}' });
      };
      lane.call(permit, tool('test_elicitation', { message: 'who?' }), sink);
      await sink.settled;
      expect(sink.asks.map(({ row }) => row.method)).toEqual(['elicitation/create']);
      expect(JSON.stringify(resultOf(sink.outcomes[0]))).toContain('action=accept');
    },
  );

  test('a modern server answers input_required, and the next round carries the answers', async () => {
    const { lane } = await open(start('http', 'modern'), 'modern');
    const first = new CallRecorder();
    const request = tool('test_elicitation', { message: 'who?' });
    lane.call(permit, request, first);
    await first.settled;
    expect(resultOf(first.outcomes[0])).toMatchObject({ resultType: 'input_required' });
    const second = new CallRecorder();
    const inputResponses = '{"answer":{"action":"accept","content":{"username":"u","email":"e@x.y"}}}';
    lane.call(permit, { ...request, round: { inputResponses, requestState: undefined } }, second);
    await second.settled;
    expect(JSON.stringify(resultOf(second.outcomes[0]))).toContain('action=accept');
  });
});

describe('subscriptions', { timeout: START_MS }, () => {
  test.each(['http', 'stdio'] as const)(
    'a modern server over %s notifies of changes on its listen call',
    async (transport) => {
      const { lane } = await open(start(transport, 'modern'), 'modern');
      const listening = new CallRecorder();
      const heard = { resolve: (_: string) => undefined as unknown };
      const next = () =>
        new Promise<string>((resolve) => {
          heard.resolve = resolve;
        });
      listening.notify = (notification) => void heard.resolve(notification.method);
      const listen =
        '{"jsonrpc":"2.0","id":0,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}';
      const acknowledged = next();
      const call = lane.call(permit, callOf(listen, { client: facts }), listening);
      expect(await acknowledged).toBe('notifications/subscriptions/acknowledged');
      const changed = next();
      const trigger = new CallRecorder();
      lane.call(permit, tool('test_trigger_tool_change', {}), trigger);
      expect(await changed).toBe('notifications/tools/list_changed');
      await trigger.settled;
      call.cancel();
      expect(listening.outcomes).toEqual([]);
    },
  );
});

test('a session that the server has forgotten is lost, once', { timeout: START_MS }, async () => {
  const { lane, sink } = await open(start('http', 'legacy'), 'legacy');
  const sessionId = (lane as unknown as { headers: Record<string, string> }).headers['mcp-session-id'] ?? '';
  await fetch(addresses.get('legacy') ?? '', { method: 'DELETE', headers: { 'mcp-session-id': sessionId } });
  const call = new CallRecorder();
  lane.call(permit, tool('test_simple_text', {}), call);
  await call.settled;
  expect(call.ends).toEqual(['failure backend_session_lost']);
  await expect.poll(() => sink.losses.length).toBe(1);
});
