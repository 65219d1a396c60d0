/**
 * What a legacy client never says and a modern backend must be told with every request; and what no backend is told,
 * because the client did not declare it.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { answered } from '../backend/setup.ts';
import { behindLegacy, behindModern, legacyRevisions, request, text } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, LegacyClient, modern } from '../harness/eras.ts';
import type { ScriptedBackend, Turn } from '../harness/http-backend.ts';

const core = 'io.modelcontextprotocol/';
const complete = { resultType: 'complete' };

describe('the envelope of a legacy request at a modern backend', verifies('gateway:bridge:envelope-added'), () => {
  const capabilities = { roots: {}, sampling: {}, experimental: { 'x/y': [1] } };
  /** `raw` is the client of the harness. */
  const envelope = {
    [`${core}protocolVersion`]: '2026-07-28',
    [`${core}clientInfo`]: { name: 'raw', version: '1' },
    [`${core}clientCapabilities`]: capabilities,
  };
  const requests = [
    { method: 'tools/list', params: undefined, name: undefined },
    { method: 'tools/list', params: { cursor: 'c' }, name: undefined },
    { method: 'tools/call', params: { name: 't', arguments: { a: 1 } }, name: 't' },
    { method: 'prompts/list', params: {}, name: undefined },
    { method: 'prompts/get', params: { name: 'é' }, name: '=?base64?w6k=?=' },
    { method: 'resources/list', params: undefined, name: undefined },
    { method: 'resources/templates/list', params: undefined, name: undefined },
    { method: 'resources/read', params: { uri: 'a://b' }, name: 'a://b' },
    { method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'p' } }, name: undefined },
  ];
  const answers = Object.fromEntries(
    requests.map(({ method }) => [method, (turn: { result(value: object): void }) => turn.result(complete)]),
  );

  for (const revision of legacyRevisions) {
    it(`carries revision, info and capabilities: ${revision}`, async () => {
      const { url, backend } = await behindModern(answers, {
        endpoint: { profile: { revisions: [...legacyRevisions] } },
      });
      const client = await connectLegacy(url, { revision, capabilities });
      for (const { method, params, name } of requests) {
        backend.forget();
        const answer = await client.post(request(method, method, params));
        expect(answer.json()).toEqual({ jsonrpc: '2.0', id: method, result: expect.any(Object) });
        const received = backend.of(method).at(-1);
        expect(received?.message.params).toEqual({ ...params, _meta: envelope });
        expect(received?.message.id).not.toBe(method);
        const { headers = {} } = received ?? {};
        expect({
          version: headers['mcp-protocol-version'],
          method: headers['mcp-method'],
          name: headers['mcp-name'],
          session: headers['mcp-session-id'],
        }).toEqual({ version: '2026-07-28', method, name, session: undefined });
      }
    });
  }

  it('keeps the members of the client, and writes the members of the protocol itself', async () => {
    const { url, backend } = await behindModern(answers);
    const client = await connectLegacy(url, { capabilities: {} });
    const trace = { traceparent: '00-1', 'com.example/x': { y: 1 } };
    const forged = {
      [`${core}clientCapabilities`]: { sampling: {} },
      [`${core}clientInfo`]: { name: 'x', version: '0' },
    };
    const _meta = { ...trace, ...forged, progressToken: 'mine' };
    await client.post(request(1, 'tools/call', { name: 't', _meta }));
    const [call] = backend.of('tools/call');
    expect(call?.message.params._meta).toEqual({
      ...trace,
      ...envelope,
      [`${core}clientCapabilities`]: {},
      progressToken: call?.message.id,
    });
    // Each of them once: two readers must not find two things.
    for (const key of [...Object.keys(envelope), 'progressToken']) expect(call?.text.split(`"${key}"`)).toHaveLength(2);
  });

  it('has no client info for a client without one', async () => {
    const { url, backend } = await behindModern(answers);
    const params = { protocolVersion: '2025-11-25', capabilities: {} };
    const answer = await send(url, { body: request(1, 'initialize', params) });
    const client = new LegacyClient(url, String(answer.headers['mcp-session-id']), '2025-11-25', {});
    await client.post(request(2, 'prompts/list'));
    const [list] = backend.of('prompts/list');
    const { [`${core}clientInfo`]: _info, ...anonymous } = envelope;
    expect(list?.message.params._meta).toEqual({ ...anonymous, [`${core}clientCapabilities`]: {} });
  });
});

/**
 * What a backend was told that the client can do, each time that it was told. The gateway's own requests declare
 * nothing.
 */
function offered(backend: ScriptedBackend): readonly Json[] {
  return backend.received.flatMap(({ message }) => {
    if (message?.method === 'initialize') return [message.params.capabilities];
    const { [`${core}clientCapabilities`]: told } = message?.params?._meta ?? {};
    return told === undefined || message.method === 'subscriptions/listen' ? [] : [told];
  });
}

const declarations = [
  { declared: {}, offered: {} },
  { declared: { elicitation: {} }, offered: { elicitation: {} } },
  { declared: { elicitation: { form: {} } }, offered: { elicitation: { form: {} } } },
  { declared: { elicitation: { url: {} } }, offered: { elicitation: { url: {} } } },
  { declared: { sampling: {} }, offered: { sampling: {} } },
  { declared: { sampling: { tools: {} } }, offered: { sampling: { tools: {} } } },
  { declared: { roots: { listChanged: true } }, offered: { roots: {} } },
];

const pairs = [
  { client: 'legacy', backend: 'legacy', behind: behindLegacy },
  { client: 'legacy', backend: 'modern', behind: behindModern },
  { client: 'modern', backend: 'legacy', behind: behindLegacy },
  { client: 'modern', backend: 'modern', behind: behindModern },
];

describe.each(pairs)(
  'the capabilities of a $client client for a $backend backend',
  verifies('gateway:bridge:capabilities-narrowed'),
  ({ client, backend: era, behind }) => {
    it.each(declarations)('is all that it is offered: $declared', async ({ declared, offered: expected }) => {
      const { url, backend, gateway } = await behind({
        'prompts/get': (turn) => turn.result({ ...(era === 'modern' && complete), messages: [] }),
      });
      await gateway.assembled.backends.get('b')?.discover();
      backend.forget();
      if (client === 'legacy') {
        const session = await connectLegacy(url, { capabilities: declared });
        await session.post(request(1, 'prompts/get', { name: 'p' }));
      } else await send(url, modern({ method: 'prompts/get', params: { name: 'p' }, capabilities: declared }));
      expect(backend.of('prompts/get')).toHaveLength(1);
      expect(offered(backend)).toEqual([expected]);
    });
  },
);

describe('modern clients at a legacy backend', verifies('gateway:bridge:capabilities-narrowed'), () => {
  it('share an upstream session only where they declared the same', async () => {
    const { url, backend, gateway } = await behindLegacy({ 'prompts/get': (turn) => turn.result({ messages: [] }) });
    await gateway.assembled.backends.get('b')?.discover();
    backend.forget();
    const get = (capabilities: object) =>
      send(url, modern({ method: 'prompts/get', params: { name: 'p' }, capabilities }));
    await get({ elicitation: {}, sampling: {} });
    await get({});
    await get({ sampling: {}, elicitation: {} });
    await get({ elicitation: { url: {} }, sampling: {} });
    const sessions = backend.of('prompts/get').map(({ headers }) => headers['mcp-session-id']);
    expect(new Set(sessions).size).toBe(3);
    expect(sessions[0]).toBe(sessions[2]);
    expect(backend.of('initialize').map(({ message }) => message.params.capabilities)).toEqual([
      { elicitation: {}, sampling: {} },
      {},
      { elicitation: { url: {} }, sampling: {} },
    ]);
  });
});

describe('a server request for an undeclared capability', verifies('gateway:bridge:capabilities-narrowed'), () => {
  const url = { mode: 'url', message: 'Look', url: 'https://a.example/', elicitationId: 'e' };
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
  const sample = { messages: [], maxTokens: 1 };
  const cases = [
    { ask: 'elicitation/create', params: form, declared: {}, missing: { elicitation: { form: {} } }, code: -32602 },
    {
      ask: 'elicitation/create',
      params: form,
      declared: { elicitation: { url: {} } },
      missing: { elicitation: { form: {} } },
      code: -32602,
    },
    {
      ask: 'elicitation/create',
      params: url,
      declared: { elicitation: {} },
      missing: { elicitation: { url: {} } },
      code: -32602,
    },
    {
      ask: 'sampling/createMessage',
      params: sample,
      declared: { elicitation: {} },
      missing: { sampling: {} },
      code: -32600,
    },
    {
      ask: 'sampling/createMessage',
      params: { ...sample, tools: [] },
      declared: { sampling: {} },
      missing: { sampling: { tools: {} } },
      code: -32600,
    },
    { ask: 'roots/list', params: undefined, declared: { elicitation: {} }, missing: { roots: {} }, code: -32601 },
  ];

  it.each(cases)(
    'does not reach a modern client from a legacy backend, which gets an error: $ask, $declared',
    verifies('gateway:bridge:capabilities-narrowed', 'gateway:modern:capability-missing'),
    async ({ ask, params, declared, missing, code }) => {
      const clock = new LeapClock();
      const { url: address, backend } = await behindLegacy(
        { 'tools/call': (turn) => turn.stream().event({ jsonrpc: '2.0', id: 'q', method: ask, params }) },
        { ports: { clock } },
      );
      const calling = send(address, modern({ method: 'tools/call', params: { name: 't' }, capabilities: declared }));
      // The backend has a moment to end the call by itself.
      await until(() => backend.received.some(({ message }) => message?.id === 'q'), 'the backend is told');
      expect(backend.of('notifications/cancelled')).toEqual([]);
      clock.leap(1_000);
      const answer = await calling;
      expect(answer.status).toBe(400);
      expect(answer.json()).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: -32021,
          message: 'Missing required client capability',
          data: { reason: 'missing_capability', requiredCapabilities: missing },
        },
      });
      const call = await backend.arrival('tools/call');
      const told = await backend.arrival('notifications/cancelled');
      expect(told.message.params.requestId).toBe(call.message.id);
      expect(
        backend.received.filter(({ message }) => message?.id === 'q').map(({ message }) => message.error.code),
      ).toEqual([code]);
    },
  );

  it('leaves a call that ends after the refusal alone, and its session serves the next one', async () => {
    const clock = new LeapClock();
    let asked: Turn | undefined;
    const { url: address, backend } = await behindLegacy(
      {
        'tools/call': (turn) => {
          if (turn.message.params.name !== 'asks') turn.result(text('done'));
          else asked = turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
        },
        POST: (turn) => {
          turn.raw(202, {});
          asked?.event({ jsonrpc: '2.0', id: asked.message.id, result: text('went on') }).end();
        },
      },
      { ports: { clock } },
    );
    const calling = (name: string) => send(address, modern({ method: 'tools/call', params: { name } }));
    expect((await calling('asks')).json().error.code).toBe(-32021);
    expect((await calling('next')).json().result).toMatchObject(text('done'));
    clock.leap(1_000);
    expect((await calling('last')).json().result).toMatchObject(text('done'));
    expect(backend.of('notifications/cancelled')).toEqual([]);
    const sessions = backend.of('tools/call').map(({ headers }) => headers['mcp-session-id']);
    expect(new Set(sessions).size).toBe(1);
  });

  it.each(['before the retry', 'after the retry'])(
    'of a pending call is refused, and the call goes on: %s',
    async (when) => {
      const clock = new LeapClock();
      let asked: Turn | undefined;
      const { url: address, backend } = await behindLegacy(
        {
          'tools/call': (turn) => {
            const params = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
            asked = turn.stream().event({ jsonrpc: '2.0', id: 'first', method: 'elicitation/create', params });
          },
          POST: (turn) => {
            turn.raw(202, {});
            if (turn.message.id === 'first')
              asked?.event({ jsonrpc: '2.0', id: asked.message.id, result: text('went on') }).end();
          },
        },
        { ports: { clock } },
      );
      const calling = (more: object = {}) =>
        send(
          address,
          modern({ method: 'tools/call', params: { name: 't', ...more }, capabilities: { elicitation: {} } }),
        );
      const { inputRequests, requestState } = answered(await calling()).result;
      const [key = ''] = Object.keys(inputRequests);
      asked?.event({ jsonrpc: '2.0', id: 'second', method: 'roots/list' });
      await until(() => backend.received.some(({ message }) => message?.id === 'second'), 'the question is refused');
      if (when === 'before the retry') clock.leap(1_000);
      const retry = calling({ requestState, inputResponses: { [key]: { action: 'accept', content: {} } } });
      if (when === 'after the retry') clock.leap(1_000);
      expect(answered(await retry).result).toMatchObject(text('went on'));
      expect(backend.of('notifications/cancelled')).toEqual([]);
    },
  );

  it.each(cases.filter(({ ask }) => ask === 'elicitation/create'))(
    'does not reach a legacy client from a modern backend, which gets a cancellation: $declared',
    async ({ ask, params, declared }) => {
      const { url: address, backend } = await behindModern({
        'tools/call': (turn) => {
          const { inputResponses } = turn.message.params;
          if (inputResponses === undefined)
            turn.result({ resultType: 'input_required', inputRequests: { q: { method: ask, params } } });
          else turn.result({ ...complete, ...text('done') });
        },
      });
      const client = await connectLegacy(address, { capabilities: declared });
      const answer = await client.post(request(1, 'tools/call', { name: 't' }));
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: text('done') });
      expect(backend.of('tools/call').map(({ message }) => message.params.inputResponses)).toEqual([
        undefined,
        { q: { action: 'cancel' } },
      ]);
    },
  );

  it.each(cases.filter(({ ask }) => ask !== 'elicitation/create'))(
    'does not reach a legacy client from a modern backend, and ends the call: $ask, $declared',
    async ({ ask, params, declared, missing }) => {
      const { url: address, backend } = await behindModern({
        'tools/call': (turn) =>
          turn.result({
            resultType: 'input_required',
            inputRequests: { q: { method: ask, ...(params && { params }) } },
          }),
      });
      const client = await connectLegacy(address, { capabilities: declared });
      const answer = await client.post(request(1, 'tools/call', { name: 't' }));
      expect(answer.json()).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: -32600,
          message: 'The client cannot answer this',
          data: { reason: 'ask_not_supported', requiredCapabilities: missing },
        },
      });
      expect(backend.of('tools/call')).toHaveLength(1);
    },
  );
});
