/** How the era of a backend is found, and what `server/discover` says to a client. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, call, echo, expectRefused, request } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { discovered, legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { legacyProcess, type StdioTurn } from '../harness/stdio-backend.ts';

const prompt = modern({ method: 'prompts/get', params: { name: 'p' } });
const prompted = (turn: Turn) => turn.result({ resultType: 'complete', messages: [] });
const nothing = { jsonrpc: '2.0', id: 1, result: { resultType: 'complete', messages: [] } };

describe('server/discover', () => {
  it('describes the backend of the endpoint', verifies('lifecycle:discover:basic'), async () => {
    const capabilities = {
      tools: { listChanged: true },
      completions: {},
      extensions: { 'io.modelcontextprotocol/ui': {} },
    };
    const serverInfo = { name: 'inner', version: '4.2', title: 'The inner one' };
    const { url } = await behindModern(
      {
        'server/discover': (turn) =>
          turn.result({
            ...discovered({ capabilities, serverInfo, instructions: 'Ask' }),
            ttlMs: 60_000,
            cacheScope: 'public',
          }),
      },
      { endpoint: { profile: { revisions: ['2025-06-18', '2026-07-28'] } } },
    );
    const answer = await send(url, modern({ id: 'd', method: 'server/discover' }));
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 200,
      body: {
        jsonrpc: '2.0',
        id: 'd',
        result: {
          resultType: 'complete',
          supportedVersions: ['2026-07-28', '2025-06-18'],
          capabilities,
          instructions: 'Ask',
          ttlMs: 60_000,
          cacheScope: 'public',
          _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
        },
      },
    });
  });
});

describe('a probe that is refused for its revision', () => {
  const refusal = (supported: readonly string[]) => (turn: Turn) =>
    turn.error(-32022, 'Unsupported protocol version', { supported, requested: '2026-07-28' }, 400);

  it('is repeated once, in one that both have', verifies('lifecycle:discover:retry-on-32022'), async () => {
    const refuse = refusal(['2099-01-01', '2026-07-28']);
    const { url, backend } = await behindModern({
      'server/discover': (turn) =>
        backend.of('server/discover').length === 1 ? refuse(turn) : turn.result(discovered({})),
      'prompts/get': prompted,
    });
    expect((await send(url, prompt)).json()).toEqual(nothing);
    const versions = backend.of('server/discover').map(({ headers }) => headers['mcp-protocol-version']);
    expect(versions).toEqual(['2026-07-28', '2026-07-28']);
    expect(backend.received.slice(0, 2)).toEqual(backend.of('server/discover'));
  });

  it.each([
    { supported: ['2026-07-28'], probes: 2, message: 'The backend refuses a revision that it declared', data: {} },
    {
      supported: ['2099-01-01'],
      probes: 1,
      message: 'The backend supports no revision that the gateway knows',
      data: { supported: ['2099-01-01'] },
    },
  ])(
    'never becomes initialize: $supported',
    verifies('lifecycle:discover:retry-on-32022'),
    async ({ supported, probes, message, data }) => {
      const { url, backend } = await behindModern({ 'server/discover': refusal(supported) });
      expectRefused(await send(url, prompt), 200, { id: 1, code: -32603, message, reason: 'backend_invalid', data });
      expect(backend.of('server/discover')).toHaveLength(probes);
      expect(backend.of('initialize')).toEqual([]);
    },
  );
});

describe('any other answer to the probe means a legacy backend', () => {
  const answers: readonly { name: string; answer: (turn: Turn) => void }[] = [
    { name: '-32601', answer: (turn) => turn.error(-32601, 'Method not found') },
    { name: '-32602 with 400', answer: (turn) => turn.error(-32602, 'Invalid params', undefined, 400) },
    { name: '-32000 with 400', answer: (turn) => turn.error(-32000, 'Server not initialized', undefined, 400) },
    { name: '-32603 with 500', answer: (turn) => turn.error(-32603, 'Before initialize', undefined, 500) },
    { name: 'code 7', answer: (turn) => turn.error(7, 'Odd') },
    {
      name: '400 without id',
      answer: (turn) => turn.json({ jsonrpc: '2.0', id: null, error: { code: 0, message: '' } }, 400),
    },
    { name: 'a bare 400', answer: (turn) => turn.raw(400, {}) },
    { name: 'a bare 404', answer: (turn) => turn.raw(404, { 'content-type': 'text/html' }, '<p>no</p>') },
    { name: 'a bare 405', answer: (turn) => turn.raw(405, { allow: 'GET' }) },
    { name: 'a bare 415', answer: (turn) => turn.raw(415, {}) },
    { name: 'a result of something else', answer: (turn) => turn.result({ ok: true }) },
  ];

  for (const { name, answer } of answers) {
    it(`${name}`, verifies('lifecycle:discover:fallback-method-not-found'), async () => {
      const { url, backend } = await behindLegacy({ ...echo, 'server/discover': answer });
      const client = await connectLegacy(url);
      expect((await client.post(call(1))).status).toBe(200);
      expect(backend.received.slice(0, 2).map(({ message }) => message.method)).toEqual([
        'server/discover',
        'initialize',
      ]);
    });
  }

  it('over stdio, too', verifies('lifecycle:discover:fallback-method-not-found'), async () => {
    const backend = await legacyProcess({
      'server/discover': (turn: StdioTurn) => turn.error(-32600, 'Not initialized'),
      'prompts/get': (turn: StdioTurn) => turn.result({ messages: [] }),
    });
    const gateway = await startGateway({ backends: { b: { command: backend.command, args: backend.args } } });
    const client = await connectLegacy(gateway.url('b'));
    expect((await client.post(request(1, 'prompts/get', { name: 'p' }))).json().result).toEqual({ messages: [] });
    const [probed] = backend.processes;
    // The process goes on serving lists, so it is told more later.
    expect(probed?.received.slice(0, 2).map(({ method }) => method)).toEqual(['server/discover', 'initialize']);
  });
});

describe('a backend that cannot be reached', () => {
  it('has no era: it is probed again later', verifies('lifecycle:discover:network-error-raises'), async () => {
    const clock = new LeapClock();
    const { url, backend, gateway } = await behindModern(
      {
        'server/discover': (turn) =>
          backend.of('server/discover').length === 1 ? turn.cut() : turn.result(discovered({})),
        'prompts/get': prompted,
      },
      { ports: { clock } },
    );
    expectRefused(await send(url, prompt), 200, {
      id: 1,
      code: -32603,
      message: expect.stringMatching(/^Backend unavailable/),
      reason: 'backend_unavailable',
    });
    expect(backend.of('initialize')).toEqual([]);
    clock.leap(60_000);
    await until(() => gateway.assembled.backends.get('b')?.state.state === 'ready', 'the backend is found');
    expect((await send(url, prompt)).json()).toEqual(nothing);
  });

  it('at all is unavailable', verifies('lifecycle:discover:network-error-raises'), async () => {
    const gone = await modernBackend();
    await gone.close();
    const gateway = await startGateway({ backends: { b: { url: gone.url } } });
    expectRefused(await send(gateway.url('b'), prompt), 200, {
      id: 1,
      code: -32603,
      message: expect.stringMatching(/^Backend unavailable/),
      reason: 'backend_unavailable',
    });
  });
});

describe('a known era', () => {
  it('is not probed again: modern', verifies('lifecycle:mode:prior-discover-zero-rtt'), async () => {
    const { url, backend } = await behindModern({ 'prompts/get': prompted });
    expect((await send(url, prompt)).json()).toEqual(nothing);
    backend.forget();
    await Promise.all([1, 2, 3].map(() => send(url, prompt)));
    await send(url, modern({ method: 'server/discover' }));
    const client = await connectLegacy(url);
    await client.post(request(1, 'prompts/get', { name: 'p' }));
    const methods = backend.received.map(({ message }) => message.method);
    expect(methods.filter((method) => method !== 'subscriptions/listen')).toEqual(Array(4).fill('prompts/get'));
  });

  it('is not probed again: legacy', verifies('lifecycle:mode:prior-discover-zero-rtt'), async () => {
    const backend = await legacyBackend({ 'prompts/get': (turn) => turn.result({ messages: [] }) });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const url = gateway.url('b');
    await send(url, prompt);
    backend.forget();
    await send(url, prompt);
    await send(url, prompt);
    expect(backend.received.map(({ message }) => message.method)).toEqual(['prompts/get', 'prompts/get']);
    await connectLegacy(url);
    expect(backend.of('server/discover')).toEqual([]);
    expect(backend.of('initialize')).toHaveLength(1);
  });
});
