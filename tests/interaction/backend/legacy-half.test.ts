/** Backends of both eras whose `supportedVersions` names the modern one alone: how their legacy half is found. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, request, result, text } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, type LegacyClient, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { agreed, discovered, modernBackend, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';
import { modernProcess, type StdioBackend, type StdioScript, type StdioTurn } from '../harness/stdio-backend.ts';

const capabilities = { elicitation: {}, sampling: {} };
const answers: Readonly<Record<string, object>> = {
  'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
  'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } },
};
const asks = [
  request('a1', 'elicitation/create', { message: 'Who?', requestedSchema: { type: 'object', properties: {} } }),
  request('a2', 'sampling/createMessage', { messages: [], maxTokens: 1 }),
];

/**
 * A process that serves the era of its first message and refuses the other, as the official SDKs do. In the legacy era
 * its tool elicits, samples and logs; in the modern one it has no way to do so.
 */
function dualProcess(script: StdioScript = {}): Promise<StdioBackend> {
  const tools = [{ name: 'work', inputSchema: { type: 'object' } }];
  const calls = new Map<StdioTurn['process'], Json>();
  const isModern = ({ process }: StdioTurn) => process.received[0]?.method !== 'initialize';
  return modernProcess({
    initialize: (turn) => {
      if (isModern(turn)) turn.error(-32022, 'The connection is modern', { supported: ['2026-07-28'] });
      else turn.result(agreed(turn.message));
    },
    'tools/list': (turn) =>
      turn.result(isModern(turn) ? { resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' } : { tools }),
    'tools/call': (turn) => {
      if (isModern(turn)) {
        turn.result({ resultType: 'complete', ...text('modern') });
        return;
      }
      calls.set(turn.process, turn.message.id);
      turn.notify('notifications/message', { level: 'info', data: 'from the tool' });
      turn.process.say(asks[0]);
    },
    response: (turn) => {
      if (turn.message.id === 'a1') turn.process.say(asks[1]);
      else turn.process.say(result(calls.get(turn.process), text('legacy')));
    },
    ...script,
  });
}

/** Answers every question of a call, and says what was asked, what was logged, and what came of the call. */
async function callAnswering(client: LegacyClient, name: string) {
  const standing = await client.listen();
  const stream = await client.stream(request('call', 'tools/call', { name, arguments: {} }));
  const asked: string[] = [];
  for (const method of Object.keys(answers)) {
    const ask = await stream.message((message) => message.method === method);
    asked.push(method);
    await client.post(result(ask.id, answers[method] ?? {}));
  }
  const outcome = await stream.message(({ id, method }) => id === 'call' && method === undefined);
  const isLog = ({ method }: Json) => method === 'notifications/message';
  await until(
    () => [...standing.events, ...stream.events].some(({ data }) => data && isLog(JSON.parse(data))),
    'the client got the log message',
  );
  return { asked, outcome };
}

const everything = { asked: Object.keys(answers), outcome: result('call', text('legacy')) };

function before(backend: StdioBackend, more: ConfigValue = {}): Promise<TestGateway> {
  const { command, args } = backend;
  return startGateway({ backends: { b: { command, args, ...more } } });
}

describe(
  'a stdio backend of both eras that names the modern one alone',
  verifies('gateway:backend:legacy-half'),
  () => {
    it('elicits, samples and logs for a legacy client at its own endpoint', async () => {
      const gateway = await before(await dualProcess());
      const client = await connectLegacy(gateway.url('b'), { capabilities });
      expect(await callAnswering(client, 'work')).toEqual(everything);
    });

    it('elicits, samples and logs for a legacy client at a merged endpoint', async () => {
      const { command, args } = await dualProcess();
      const other = await modernBackend({}, { capabilities: {} });
      const gateway = await startGateway({ backends: { b: { command, args }, other: { url: other.url } } });
      const client = await connectLegacy(gateway.url(), { capabilities });
      const { tools } = (await client.post(request('list', 'tools/list'))).json().result;
      expect(await callAnswering(client, tools[0].name)).toEqual(everything);
    });

    it('gives a legacy client the capabilities, info and instructions of its legacy half', async () => {
      const half = {
        capabilities: { tools: { listChanged: true }, logging: {} },
        serverInfo: { name: 'half', version: '1.0.0' },
        instructions: 'Legacy instructions',
      };
      const initialize = (turn: StdioTurn) => turn.result({ protocolVersion: '2025-11-25', ...half });
      const gateway = await before(await dualProcess({ initialize }));
      const first = await connectLegacy(gateway.url('b'));
      const second = await connectLegacy(gateway.url('b'));
      for (const { initialized } of [first, second]) expect(initialized).toMatchObject(half);
      expect(Object.keys(second.initialized.capabilities)).toEqual(['tools', 'logging']);
    });

    it('samples for a client of HTTP+SSE', async () => {
      const gateway = await before(await dualProcess());
      const client = await SseClient.connect(`${gateway.origin}/servers/b/sse`, {
        revision: '2024-11-05',
        capabilities: { sampling: {} },
      });
      await client.post(call(1));
      const ask = await client.stream.message(({ method }) => method === 'sampling/createMessage');
      await client.post(result(ask.id, answers['sampling/createMessage'] ?? {}));
      const outcome = await client.stream.message(({ id, method }) => id === 1 && method === undefined);
      expect(outcome).toEqual(result(1, text('legacy')));
    });

    it('has one process for each era with share: true', async () => {
      const backend = await dualProcess();
      const gateway = await before(backend, { share: true });
      const called = await send(gateway.url('b'), modern({ method: 'tools/call', params: { name: 'work' } }));
      expect(called.json().result.content).toEqual(text('modern').content);
      const client = await connectLegacy(gateway.url('b'), { capabilities });
      expect(await callAnswering(client, 'work')).toEqual(everything);
    });

    it('continues to serve modern clients with its modern half, in one process', async () => {
      const backend = await dualProcess();
      const gateway = await before(backend);
      await connectLegacy(gateway.url('b'), { capabilities });
      for (const id of [1, 2]) {
        const called = await send(gateway.url('b'), modern({ id, method: 'tools/call', params: { name: 'work' } }));
        expect(called.json().result.content).toEqual(text('modern').content);
      }
      expect(new Set(backend.of('tools/call').map(({ process }) => process.pid)).size).toBe(1);
    });

    it('is not started a second time before a legacy client connects', async () => {
      const backend = await dualProcess();
      const gateway = await before(backend);
      await send(gateway.url('b'), modern({ method: 'tools/call', params: { name: 'work' } }));
      expect(backend.processes).toHaveLength(1);
    });
  },
);

describe('a stdio backend of the modern era alone', verifies('gateway:backend:legacy-half'), () => {
  const refusals: readonly { name: string; initialize: (turn: StdioTurn) => void }[] = [
    { name: 'refuses', initialize: (turn) => turn.error(-32601, 'Method not found') },
    { name: 'ends on', initialize: (turn) => turn.process.exit(1) },
  ];
  it.each(refusals)('that $name initialize is probed once, and serves every legacy client', async ({ initialize }) => {
    const backend = await dualProcess({ initialize });
    const gateway = await before(backend);
    for (const id of [1, 2]) {
      const client = await connectLegacy(gateway.url('b'), { capabilities });
      expect((await client.post(call(id))).json()).toEqual(result(id, text('modern')));
    }
    expect(backend.of('initialize')).toHaveLength(1);
  });

  it('serves a legacy client where it may have one process alone', async () => {
    const backend = await dualProcess();
    const gateway = await before(backend, { maxProcesses: 1 });
    const client = await connectLegacy(gateway.url('b'), { capabilities });
    expect((await client.post(call(1))).json()).toEqual(result(1, text('modern')));
    expect(backend.processes).toHaveLength(1);
  });
});

describe('an HTTP backend that is slow to answer initialize', verifies('gateway:backend:legacy-half-silence'), () => {
  const SERVERS = 51;

  /** Of both eras; `initialize` waits until the test answers it. */
  async function slowServer(held: Turn[], script: Parameters<typeof modernBackend>[0] = {}): Promise<ScriptedBackend> {
    return modernBackend({
      'server/discover': (turn) => turn.result(discovered({})),
      initialize: (turn) => void held.push(turn),
      'notifications/initialized': (turn) => turn.raw(202, {}),
      'tools/call': (turn) => {
        const isModern = turn.received.headers['mcp-method'] !== undefined;
        turn.result(isModern ? { resultType: 'complete', ...text('modern') } : text('legacy'));
      },
      ...script,
    });
  }

  const agree = (turn: Turn) => turn.result(agreed(turn.message));
  const erasOf = (gateway: TestGateway) =>
    [...gateway.assembled.backends].map(({ lastDiscovery }) => lastDiscovery?.eras.join() ?? '');

  it('is found to speak both eras, though 51 of them are started at once', async () => {
    const clock = new LeapClock();
    const held: Turn[] = [];
    const servers = await Promise.all(Array.from({ length: SERVERS }, () => slowServer(held)));
    const backends = Object.fromEntries(servers.map(({ url }, at) => [`b${at}`, { url }]));
    const gateway = await startGateway({ backends }, { clock });
    const { probesAtOnce, probeMs } = gateway.config.limits;
    for (const backend of gateway.assembled.backends) backend.discover().catch(() => undefined);
    const asked = () => servers.filter((server) => server.of('initialize').length > 0).length;
    for (let wave = probesAtOnce; ; wave += probesAtOnce) {
      const expected = Math.min(wave, SERVERS);
      await until(() => asked() >= expected, `${expected} servers are asked`);
      expect(asked()).toBe(expected);
      if (expected === SERVERS) break;
      clock.leap(1_000);
    }
    clock.leap(probeMs);
    await until(() => erasOf(gateway).every((eras) => eras === 'modern'), 'all are known to be modern');
    await until(() => {
      for (const turn of held.splice(0)) agree(turn);
      return erasOf(gateway).every((eras) => eras === 'modern,legacy');
    }, 'all are known to speak both eras');
  });

  it('is probed again with the first legacy session, which its legacy half serves', async () => {
    const clock = new LeapClock();
    const held: Turn[] = [];
    const server = await slowServer(held);
    const gateway = await startGateway({ backends: { b: { url: server.url } } }, { clock });
    const { probeMs, legacyHalfMs, restartMaxMs } = gateway.config.limits;
    const discovering = gateway.assembled.backends.get('b')?.discover();
    await server.arrival('initialize', 1);
    clock.leap(probeMs);
    await discovering;
    await server.arrival('initialize', 2);
    clock.leap(legacyHalfMs);
    await held[1]?.closed;
    clock.leap(restartMaxMs);
    expect(erasOf(gateway)).toEqual(['modern']);
    const connecting = connectLegacy(gateway.url('b'));
    await server.arrival('initialize', 3);
    clock.leap(legacyHalfMs - 1_000);
    agree(held[2] as Turn);
    const turn = await server.arrival('initialize', 4);
    expect(turn.message.params.clientInfo.name).toBe('raw');
    agree(held[3] as Turn);
    const client = await connecting;
    expect((await client.post(call(1))).json()).toEqual(result(1, text('legacy')));
  });

  it('serves legacy sessions with its modern half until initialize is answered', async () => {
    const clock = new LeapClock();
    const held: Turn[] = [];
    const server = await slowServer(held);
    const gateway = await startGateway({ backends: { b: { url: server.url } } }, { clock });
    const connecting = connectLegacy(gateway.url('b'));
    const { probeMs, legacyHalfMs } = gateway.config.limits;
    await server.arrival('initialize', 1);
    clock.leap(probeMs);
    await server.arrival('initialize', 2);
    clock.leap(legacyHalfMs);
    const client = await connecting;
    expect((await client.post(call(1))).json()).toEqual(result(1, text('modern')));
    // The next one does not wait for what was silent a moment ago.
    const next = await connectLegacy(gateway.url('b'));
    expect((await next.post(call(2))).json()).toEqual(result(2, text('modern')));
    expect(server.of('initialize')).toHaveLength(2);
  });

  const nothing: readonly { name: string; answer: (turn: Turn) => void }[] = [
    { name: '429', answer: (turn) => turn.raw(429, { 'retry-after': '1' }) },
    { name: '503', answer: (turn) => turn.raw(503, {}) },
    { name: 'a cut connection', answer: (turn) => turn.cut() },
  ];
  it.each(nothing)('is probed again if initialize got $name', async ({ answer }) => {
    let asked = 0;
    const server = await slowServer([], { initialize: (turn) => (++asked === 1 ? answer(turn) : agree(turn)) });
    const gateway = await startGateway({ backends: { b: { url: server.url } } });
    const client = await connectLegacy(gateway.url('b'));
    expect((await client.post(call(1))).json()).toEqual(result(1, text('legacy')));
  });

  it('that rejects initialize is probed once', async () => {
    const server = await slowServer([], { initialize: (turn) => turn.error(-32601, 'Method not found', {}, 404) });
    const gateway = await startGateway({ backends: { b: { url: server.url } } });
    const client = await connectLegacy(gateway.url('b'));
    expect((await client.post(call(1))).json()).toEqual(result(1, text('modern')));
    expect(server.of('initialize')).toHaveLength(1);
  });
});
