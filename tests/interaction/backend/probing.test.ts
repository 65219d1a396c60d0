/** How the gateway finds out of which era a backend is, seen from both sides. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, echo, refusal, request, result, text } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { agreed, discovered, legacyBackend, modernBackend, type Script, type Turn } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess, type StdioScript, type StdioTurn } from '../harness/stdio-backend.ts';
import { answered, leftAlone, startBeforeProcess, unavailable } from './setup.ts';

const kinds = (received: readonly { message: { method?: string } | undefined; http: string }[]) =>
  received.map(({ message, http }) => message?.method ?? http);

const discover = (id: number) => modern({ id, method: 'server/discover' });
const params = { name: 'work', arguments: {} };
const endpoints = [
  { name: 'the endpoint of the backend', at: (gateway: TestGateway) => gateway.url('b') },
  { name: '/mcp', at: (gateway: TestGateway) => gateway.url() },
];

describe('the era of a backend', verifies('gateway:backend:probe-cached'), () => {
  it('is probed once for many concurrent and later requests', async () => {
    const backend = await legacyBackend(echo);
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const url = gateway.url('b');
    await Promise.all([1, 2, 3].map((id) => send(url, discover(id))));
    for (const id of [4, 5]) await send(url, discover(id));
    await (await connectLegacy(url)).post(call(1));
    expect(backend.of('server/discover')).toHaveLength(1);
  });

  it('is probed again when the result is old', async () => {
    const clock = new LeapClock();
    let name = 'first';
    const backend = await modernBackend({
      'server/discover': (turn) => turn.result(discovered({ serverInfo: { name, version: '1' } })),
    });
    const limits = { probeAgeMs: 60_000 };
    const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits }, { clock });
    const nameNow = async (id: number) => {
      const { _meta } = (await send(gateway.url('b'), discover(id))).json().result;
      return _meta['io.modelcontextprotocol/serverInfo'].name;
    };
    expect(await nameNow(1)).toBe('first');
    name = 'second';
    clock.leap(59_000);
    expect(await nameNow(2)).toBe('first');
    clock.leap(1_000);
    expect(await nameNow(3)).toBe('second');
    expect(backend.of('server/discover')).toHaveLength(2);
  });

  it('is probed again when it proves wrong: a modern backend that became a legacy one is served as such', async () => {
    const clock = new LeapClock();
    let era: 'modern' | 'legacy' = 'modern';
    const only = (which: typeof era, serve: (turn: Turn) => void) => (turn: Turn) =>
      era === which ? serve(turn) : turn.error(-32601, 'Method not found', undefined, 400);
    const script: Script = {
      'server/discover': only('modern', (turn) => turn.result(discovered({}))),
      initialize: only('legacy', (turn) =>
        turn.json(result(turn.message.id, agreed(turn.message)), 200, { 'mcp-session-id': 'given' }),
      ),
      'tools/list': (turn) => turn.result(era === 'modern' ? { resultType: 'complete', tools: [] } : { tools: [] }),
      'tools/call': (turn) => {
        const isModern = turn.received.headers['mcp-method'] !== undefined;
        if (isModern && era === 'legacy') turn.error(-32000, 'Bad Request: no session', undefined, 400);
        else turn.result({ ...(era === 'modern' && { resultType: 'complete' }), ...text(era) });
      },
    };
    const backend = await legacyBackend(script);
    const gateway = await startGateway({ backends: { b: { url: backend.url } } }, { clock });
    const url = gateway.url('b');
    const ask = async (id: number) => (await send(url, modern({ id, method: 'tools/call', params }))).json();
    expect(await ask(1)).toMatchObject(result(1, text('modern')));
    era = 'legacy';
    // What was found out a moment ago is not doubted at once.
    clock.leap(10_000);
    expect(await ask(2)).toMatchObject({ id: 2, error: { code: -32000 } });
    expect(await ask(3)).toMatchObject(result(3, text('legacy')));
    const client = await connectLegacy(url);
    expect((await client.post(call(4))).json()).toEqual(result(4, text('legacy')));
    const asked = backend.of('server/discover').length;
    // And back again, which nothing but age shows.
    era = 'modern';
    clock.leap(600_000);
    expect(await ask(5)).toMatchObject(result(5, text('modern')));
    expect(await ask(6)).toMatchObject(result(6, text('modern')));
    expect(backend.of('server/discover')).toHaveLength(asked + 1);
  });
});

describe('a modern error', verifies('gateway:backend:probe-modern-error'), () => {
  const errors = [
    { name: 'header mismatch', code: -32020 },
    { name: 'missing capability', code: -32021 },
    { name: 'no common revision', code: -32022, data: { supported: ['2099-01-01'], requested: '2026-07-28' } },
  ];
  it.each(errors)('of an HTTP backend ($name) never leads to initialize', async ({ code, data }) => {
    const backend = await legacyBackend({ 'server/discover': (turn) => turn.error(code, 'No', data, 400) });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const answer = await send(gateway.url('b'), { body: initialize() });
    expect(answer.json()).toMatchObject({ id: 'init', error: { code: -32603, data: { reason: 'backend_invalid' } } });
    expect(kinds(backend.received)).toEqual(['server/discover']);
  });

  it.each(errors)('of a stdio backend ($name) never leads to initialize', async ({ code, data }) => {
    const backend = await legacyProcess({ 'server/discover': (turn) => turn.error(code, 'No', data) });
    const gateway = await startBeforeProcess(backend);
    const answer = await send(gateway.url('b'), { body: initialize() });
    expect(answer.json()).toMatchObject({ id: 'init', error: { code: -32603, data: { reason: 'backend_invalid' } } });
    expect(backend.processes.flatMap(({ received }) => received.map(({ method }) => method))).toEqual([
      'server/discover',
    ]);
  });

  it('that names a revision that we support is believed', async () => {
    const data = { supported: ['2025-11-25'], requested: '2026-07-28' };
    const backend = await legacyBackend({ ...echo, 'server/discover': (turn) => turn.error(-32022, 'No', data, 400) });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    expect((await client.post(call(1, { a: 1 }))).json()).toEqual(result(1, text('{"a":1}')));
  });
});

describe('a stdio backend that is silent', verifies('gateway:backend:probe-silence'), () => {
  it('on server/discover is a legacy one, after the time that it may think', async () => {
    const clock = new LeapClock();
    const backend = await legacyProcess({
      'server/discover': () => undefined,
      'tools/call': (turn: StdioTurn) => turn.result(text('done')),
    });
    const gateway = await startBeforeProcess(backend, { ports: { clock }, limits: { probeMs: 20_000 } });
    const connecting = connectLegacy(gateway.url('b'));
    await backend.arrival('server/discover');
    expect(backend.of('initialize')).toEqual([]);
    clock.leap(20_000);
    const client = await connecting;
    expect((await client.post(call(1))).json()).toEqual(result(1, text('done')));
  });
});

describe('a stdio backend that server/discover breaks', verifies('gateway:backend:probe-fresh-process'), () => {
  /** Servers on the Python SDK 1.3 to 1.6: silent after what they do not know, and gone with the next line. */
  const broken = (script: StdioScript) =>
    legacyProcess({
      'server/discover': () => undefined,
      initialize: (turn) => {
        const isBroken = turn.process.received.some(({ method }) => method === 'server/discover');
        if (isBroken) turn.process.exit(1);
        else turn.result(agreed(turn.message));
      },
      ...script,
    });
  const limits = { probeMs: 50, restartMinMs: 1 };
  const sampling = { messages: [], maxTokens: 1 };
  const sampled = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };
  const calls = new Map<StdioTurn['process'], Json>();
  const asking: StdioScript = {
    'tools/call': (turn) => {
      calls.set(turn.process, turn.message.id);
      turn.process.say(request('ask', 'sampling/createMessage', sampling));
    },
    response: (turn) => turn.process.say(result(calls.get(turn.process), text(turn.message.result.content.text))),
  };

  it.each(endpoints)(
    'is initialized in a fresh process at $name: a legacy client calls it and gets a server request',
    async ({ at }) => {
      const backend = await broken(asking);
      const gateway = await startBeforeProcess(backend, { limits });
      const client = await connectLegacy(at(gateway), { capabilities: { sampling: {} } });
      const stream = await client.stream(call(1));
      const ask = await stream.message(({ method }) => method === 'sampling/createMessage');
      await client.post(result(ask.id, sampled));
      expect(await stream.message(({ id, method }) => id === 1 && method === undefined)).toEqual(
        result(1, text('yes')),
      );
    },
  );

  it.each(endpoints)(
    'is initialized in a fresh process at $name: a modern client calls it and gets an input request',
    async ({ at }) => {
      const backend = await broken(asking);
      const gateway = await startBeforeProcess(backend, { limits });
      const capabilities = { sampling: {} };
      const first = answered(await send(at(gateway), modern({ id: 1, method: 'tools/call', params, capabilities })));
      const { inputRequests, requestState } = first.result;
      const [key = ''] = Object.keys(inputRequests);
      expect(inputRequests[key]).toMatchObject({ method: 'sampling/createMessage' });
      const answers = { ...params, inputResponses: { [key]: sampled }, requestState };
      const retried = await send(at(gateway), modern({ id: 2, method: 'tools/call', params: answers, capabilities }));
      expect(answered(retried)).toMatchObject(result(2, text('yes')));
    },
  );

  it('is down, with its own failure, where the fresh process ends too', async () => {
    const backend = await broken({ initialize: (turn) => turn.process.exit(3) });
    const gateway = await startBeforeProcess(backend, { limits });
    const answer = await send(gateway.url('b'), { body: initialize() });
    expect(answer.json()).toMatchObject({ id: 'init', error: { data: { reason: 'backend_unavailable' } } });
    expect(backend.of('initialize')).toHaveLength(2);
  });
});

describe('no verdict', verifies('gateway:backend:probe-no-verdict'), () => {
  it.each([
    { name: '401', answer: (turn: Turn) => turn.raw(401, { 'www-authenticate': 'Bearer' }) },
    { name: '403 in JSON-RPC', answer: (turn: Turn) => turn.error(-32600, 'Forbidden', undefined, 403) },
    { name: '429', answer: (turn: Turn) => turn.raw(429, { 'retry-after': '1' }) },
    { name: '502', answer: (turn: Turn) => turn.raw(502, { 'content-type': 'text/html' }, 'Bad Gateway') },
    { name: 'a cut connection', answer: (turn: Turn) => turn.cut() },
  ])('follows from $name: the backend is unavailable, is not initialized, and is probed again', async ({ answer }) => {
    const clock = new LeapClock();
    let down = true;
    const backend = await legacyBackend({
      ...echo,
      'server/discover': (turn) => (down ? answer(turn) : turn.error(-32601, 'Method not found', undefined, 400)),
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } }, { clock });
    const url = gateway.url('b');
    expect((await send(url, { body: initialize() })).json()).toEqual(refusal({ ...unavailable, id: 'init' }));
    expect((await send(url, discover(2))).json()).toEqual(refusal({ ...leftAlone, id: 2 }));
    expect(new Set(kinds(backend.received))).toEqual(new Set(['server/discover']));
    down = false;
    clock.leap(30_000);
    const isReady = () => gateway.assembled.backends.get('b')?.state.state === 'ready';
    await until(isReady, 'the backend was asked again');
    expect((await (await connectLegacy(url)).post(call(1, { a: 1 }))).json()).toEqual(result(1, text('{"a":1}')));
  });

  it('is a refused connection', async () => {
    const backend = await legacyBackend();
    await backend.close();
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const answer = await send(gateway.url('b'), { body: initialize() });
    expect(answer.json()).toEqual(refusal({ ...unavailable, id: 'init' }));
  });
});

describe('probes', verifies('gateway:backend:probe-bare'), () => {
  const bare = { 'io.modelcontextprotocol/clientCapabilities': {} };

  it('of an HTTP backend declare no capabilities, whatever the client declares', async () => {
    const backend = await legacyBackend(echo);
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const capabilities = { roots: {}, sampling: {}, elicitation: {} };
    await connectLegacy(gateway.url('b'), { capabilities });
    expect(backend.of('server/discover')[0]?.message.params._meta).toMatchObject(bare);
    const declared = backend.of('initialize').map(({ message }) => message.params.capabilities);
    expect(declared).toEqual([{}, capabilities]);
    await until(
      () =>
        backend.received.some(({ http, headers }) => http === 'DELETE' && headers['mcp-session-id'] === 'upstream-1'),
      'the session of the probe was ended',
    );
  });

  it('of a stdio backend declare no capabilities, whatever the client declares', async () => {
    const backend = await modernProcess();
    const gateway = await startBeforeProcess(backend);
    await send(
      gateway.url('b'),
      modern({ id: 1, method: 'prompts/list', capabilities: { roots: {}, elicitation: {} } }),
    );
    expect(backend.of('server/discover').map(({ message }) => message.params._meta)).toMatchObject([bare]);
    expect(backend.of('prompts/list')[0]?.message.params._meta).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    });
  });
});
