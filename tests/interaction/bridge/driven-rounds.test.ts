/** A legacy client of a modern backend: what the gateway says, asks, repeats and ends in its place. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  cancelled,
  Held,
  notification,
  request,
  result,
  type Settings,
  streaming,
  text,
} from '../harness/behind.ts';
import { type Json, type OpenAnswer, send, until } from '../harness/client.ts';
import { connectLegacy, type LegacyClient, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Turn } from '../harness/http-backend.ts';
import { modernProcess } from '../harness/stdio-backend.ts';

const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const sampling = { messages: [{ role: 'user', content: { type: 'text', text: 'ü' } }], maxTokens: 5 };
const noTools = { 'tools/list': (turn: Turn) => turn.result({ resultType: 'complete', tools: [] }) };
const done = { resultType: 'complete', ...text('done') };

/** Asks everything at once, then is done. */
async function behindAsking(inputRequests: object | undefined, settings: Settings = {}) {
  const behind = await behindModern(
    {
      ...noTools,
      'tools/call': (turn) => {
        const { inputResponses, requestState } = turn.message.params;
        if (inputResponses !== undefined || requestState === 'alone') turn.result(done);
        else if (inputRequests === undefined) turn.result({ resultType: 'input_required', requestState: 'alone' });
        else turn.result({ resultType: 'input_required', inputRequests });
      },
    },
    { ...settings, limits: { ...streaming, ...settings.limits } },
  );
  const client = await connectLegacy(behind.url, { capabilities });
  return { ...behind, client, stream: await client.stream(call('c')) };
}

const asked = (stream: OpenAnswer, method: string): Promise<Json> =>
  stream.message((message) => message.method === method);
const last = (stream: OpenAnswer): Promise<Json> => stream.message(({ id }) => id === 'c');
const refuse = (client: LegacyClient, id: number) =>
  client.post({ jsonrpc: '2.0', id, error: { code: -1, message: 'User rejected', data: { secret: true } } });

describe('a legacy client of a modern backend', () => {
  it(
    'gets requests for sampling and roots like those for elicitation',
    verifies('gateway:bridge:sampling-roots'),
    async () => {
      const { client, stream, backend } = await behindAsking({
        s: { method: 'sampling/createMessage', params: sampling },
        r: { method: 'roots/list' },
      });
      const sample = await asked(stream, 'sampling/createMessage');
      expect(sample.params).toEqual(sampling);
      const sampled = { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' };
      const roots = { roots: [{ uri: 'file:///x' }] };
      await client.post(result(sample.id, sampled));
      await client.post(result((await asked(stream, 'roots/list')).id, roots));
      expect(await last(stream)).toEqual(result('c', text('done')));
      expect(backend.of('tools/call')[1]?.message.params.inputResponses).toEqual({ s: sampled, r: roots });
    },
  );

  it('that answers a form with an error has cancelled it', verifies('gateway:bridge:ask-answered-error'), async () => {
    const { client, stream, backend } = await behindAsking({ e: { method: 'elicitation/create', params: form } });
    await refuse(client, (await asked(stream, 'elicitation/create')).id);
    expect(await last(stream)).toEqual(result('c', text('done')));
    expect(backend.of('tools/call')[1]?.message.params.inputResponses).toEqual({ e: { action: 'cancel' } });
  });

  it.each([
    { method: 'sampling/createMessage', params: sampling },
    { method: 'roots/list', params: undefined },
  ])(
    'that answers $method with an error ends its request, and other server requests are cancelled',
    verifies('gateway:bridge:ask-answered-error'),
    async ({ method, params }) => {
      const { client, stream, backend } = await behindAsking({
        q: { method, ...(params && { params }) },
        e: { method: 'elicitation/create', params: form },
      });
      const other = await asked(stream, 'elicitation/create');
      await refuse(client, (await asked(stream, method)).id);
      expect(await last(stream)).toEqual({
        jsonrpc: '2.0',
        id: 'c',
        error: { code: -32603, message: 'The client answered with an error', data: { reason: 'ask_failed' } },
      });
      expect(backend.of('tools/call')).toHaveLength(1);
      // Too late: nobody waits for it.
      expect((await client.post(result(other.id, { action: 'accept', content: {} }))).status).toBe(202);
      expect(backend.of('tools/call')).toHaveLength(1);
    },
  );

  it(
    'is not troubled where the backend only wants its state back',
    verifies('gateway:bridge:state-alone'),
    async () => {
      const { stream, backend } = await behindAsking(undefined);
      expect(await last(stream)).toEqual(result('c', text('done')));
      expect(stream.events.filter(({ data }) => data)).toHaveLength(1);
      const [first, second] = backend.of('tools/call').map(({ message }) => message.params);
      expect({ state: first.requestState, responses: first.inputResponses }).toEqual({});
      expect({ state: second.requestState, responses: second.inputResponses }).toEqual({ state: 'alone' });
    },
  );

  it.each(['"task"', '"Complete"', '""', '7', 'null'])(
    'gets backend_invalid if the result is of type %s',
    verifies('gateway:bridge:unknown-result-type', 'extensions:client:claimed-result-undeclared-invalid'),
    async (type) => {
      const { url } = await behindModern({
        ...noTools,
        'tools/call': (turn) =>
          turn.json(
            `{"jsonrpc":"2.0","id":${JSON.stringify(turn.message.id)},"result":{"resultType":${type},"content":[]}}`,
          ),
      });
      const client = await connectLegacy(url);
      expect((await client.post(call(1))).json().error).toMatchObject({
        code: -32603,
        data: { reason: 'backend_invalid' },
      });
      const newer = await send(url, modern({ method: 'tools/call', params: { name: 't' } }));
      expect(newer.json().error).toMatchObject({ code: -32603, data: { reason: 'backend_invalid' } });
    },
  );

  it(
    'gets no server request during a request that cannot carry it',
    verifies('gateway:bridge:ask-outside-call'),
    async () => {
      const inputRequests = { e: { method: 'elicitation/create', params: form } };
      const { url, backend } = await behindModern({
        'prompts/list': (turn) => turn.result({ resultType: 'input_required', inputRequests }),
      });
      const client = await connectLegacy(url, { capabilities });
      const answer = await client.post(request(1, 'prompts/list'));
      expect(answer.json().error).toMatchObject({ code: -32603, data: { reason: 'backend_invalid' } });
      expect(backend.of('prompts/list')).toHaveLength(1);
    },
  );

  it.each([
    'notifications/initialized',
    'notifications/roots/list_changed',
    'notifications/progress',
    'notifications/custom',
  ])('sends %s to the gateway only', verifies('gateway:bridge:notifications-absorbed'), async (method) => {
    const { url, backend } = await behindModern({ ...noTools, 'tools/call': (turn) => turn.result(done) });
    const client = await connectLegacy(url, { capabilities });
    expect((await client.post(notification(method, { progressToken: 1, progress: 1 }))).status).toBe(202);
    expect((await client.post(call(1))).json()).toEqual(result(1, text('done')));
    const said = backend.received.map(({ message }) => message.method);
    expect(said.filter((one) => one.startsWith('notifications/'))).toEqual([]);
  });

  it(
    'gets server requests of one round only up to the limit of bytes',
    verifies('gateway:bridge:rounds-bounded'),
    async () => {
      const tooLarge = {
        jsonrpc: '2.0',
        id: 'c',
        error: { code: -32603, message: 'Too many bytes in one round of input', data: { reason: 'round_too_large' } },
      };
      const limits = { roundBytes: 2048 };
      const large = { ...form, message: 'x'.repeat(3000) };
      const { stream } = await behindAsking({ e: { method: 'elicitation/create', params: large } }, { limits });
      expect(await last(stream)).toEqual(tooLarge);
      expect(stream.events.filter(({ data }) => data)).toHaveLength(1);
      // The answers, too.
      const two = { e: { method: 'elicitation/create', params: form }, r: { method: 'roots/list' } };
      const other = await behindAsking(two, { limits });
      const ask = await asked(other.stream, 'elicitation/create');
      await other.client.post(result(ask.id, { action: 'accept', content: { name: 'x'.repeat(3000) } }));
      expect(await last(other.stream)).toEqual(tooLarge);
      expect(other.backend.of('tools/call')).toHaveLength(1);
    },
  );
});

describe('a legacy cancellation', verifies('gateway:bridge:cancel-down'), () => {
  it('closes the response of a modern backend, and sends no notification', async () => {
    const held = new Held();
    const { url, backend } = await behindModern({ ...noTools, 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url);
    const stream = await client.stream(call('c'));
    const turn = await held.nth(1);
    expect((await client.post(cancelled('c', 'no more'))).status).toBe(202);
    await turn.closed;
    await stream.ended;
    expect(stream.events.filter(({ data }) => data)).toEqual([]);
    expect(backend.of('notifications/cancelled')).toEqual([]);
  });

  it('is sent on to a modern process, under the id that it knows', async () => {
    const backend = await modernProcess({
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
      'tools/call': () => undefined,
    });
    const gateway = await startGateway({
      backends: { b: { command: backend.command, args: backend.args } },
      limits: streaming,
    });
    const client = await connectLegacy(gateway.url('b'));
    const stream = await client.stream(call('c'));
    const turn = await backend.arrival('tools/call');
    await client.post(cancelled('c', 'no more'));
    const told = await backend.arrival('notifications/cancelled');
    expect(told.message.params).toEqual({ requestId: turn.message.id, reason: 'no more' });
    await stream.ended;
  });

  it('cancels the open server requests, and the request is not repeated', async () => {
    const { client, stream, backend } = await behindAsking({ e: { method: 'elicitation/create', params: form } });
    const ask = await asked(stream, 'elicitation/create');
    await client.post(cancelled('c'));
    await stream.ended;
    expect((await client.post(result(ask.id, { action: 'accept', content: {} }))).status).toBe(202);
    expect((await client.post(request('p', 'ping'))).status).toBe(200);
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});

describe('an error', verifies('gateway:bridge:errors-mapped'), () => {
  const codes = [
    { code: -32602, modern: -32602, legacy: -32602 },
    { code: -32000, modern: -32000, legacy: -32000 },
    { code: 42, modern: 42, legacy: 42 },
    { code: -32020, modern: -32603, legacy: -32603 },
    { code: -32021, modern: -32603, legacy: -32603 },
    { code: -32042, modern: -32603, legacy: -32603 },
    { code: -32050, modern: -32603, legacy: -32050 },
    { code: -32002, modern: -32602, legacy: -32002 },
  ];
  const data = { why: 'ü', n: 1.5 };

  it.each(codes)(
    'of a legacy backend with the code $code is $modern to a modern client',
    async ({ code, modern: expected }) => {
      const { url } = await behindLegacy({ 'prompts/get': (turn) => turn.error(code, 'Because', data) });
      const answer = await send(url, modern({ method: 'prompts/get', params: { name: 'p' } }));
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, error: { code: expected, message: 'Because', data } });
    },
  );

  it.each(codes)('of a modern backend with the code $code is $legacy to a legacy client', async ({ code, legacy }) => {
    const { url } = await behindModern({ 'prompts/get': (turn) => turn.error(code, 'Because', data) });
    const client = await connectLegacy(url);
    const answer = await client.post(request(1, 'prompts/get', { name: 'p' }));
    expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, error: { code: legacy, message: 'Because', data } });
  });
});

it(
  'parameter headers come from the schema, which is read again once where they are refused',
  verifies('gateway:bridge:param-headers'),
  async () => {
    let header = 'Region';
    const listed: string[] = [];
    const tool = () => ({
      name: 'work',
      inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': header } } },
    });
    const { url, backend } = await behindModern({
      'tools/list': (turn) => {
        listed.push(header);
        turn.result({ resultType: 'complete', tools: [tool()], ttlMs: 3_600_000, cacheScope: 'public' });
      },
      'tools/call': (turn) => {
        if (turn.received.headers[`mcp-param-${header.toLowerCase()}`] === 'eu') turn.result(done);
        else turn.error(-32020, 'Header mismatch', undefined, 400);
      },
    });
    const client = await connectLegacy(url);
    expect((await client.post(call(1, { region: 'eu' }))).json()).toEqual(result(1, text('done')));
    header = 'Zone';
    expect((await client.post(call(2, { region: 'eu' }))).json()).toEqual(result(2, text('done')));
    expect(listed).toEqual(['Region', 'Zone']);
    expect(backend.of('tools/call')).toHaveLength(3);
    // Where that does not help, the client hears an error that its era has.
    header = 'Elsewhere';
    const refusing = await behindModern({
      ...noTools,
      'tools/call': (turn) => turn.error(-32020, 'Header mismatch', undefined, 400),
    });
    const other = await connectLegacy(refusing.url);
    expect((await other.post(call(3, { region: 'eu' }))).json().error.code).toBe(-32603);
    await until(() => refusing.backend.of('tools/call').length === 2, 'it was tried twice');
  },
);
