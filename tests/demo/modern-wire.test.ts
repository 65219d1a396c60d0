import { describe, expect, it } from 'vitest';
import {
  capabilitiesKey,
  type Message,
  modernParams,
  type RawPeer,
  rawPeer,
  subscriptionKey,
  versionKey,
} from './peers.ts';

const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
const revisions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

describe('the envelope', () => {
  it.each([
    { name: 'no version', meta: { [capabilitiesKey]: {} }, code: -32602 },
    { name: 'a version that is no string', meta: { [versionKey]: 20260728, [capabilitiesKey]: {} }, code: -32602 },
    { name: 'no capabilities', meta: { [versionKey]: '2026-07-28' }, code: -32602 },
    {
      name: 'capabilities that are no object',
      meta: { [versionKey]: '2026-07-28', [capabilitiesKey]: [] },
      code: -32602,
    },
    { name: 'no members at all', meta: {}, code: -32602 },
    {
      name: 'an unknown log level',
      meta: { [versionKey]: '2026-07-28', [capabilitiesKey]: {}, 'io.modelcontextprotocol/logLevel': 'loud' },
      code: -32602,
    },
    { name: 'an unknown version', meta: { [versionKey]: '1900-01-01', [capabilitiesKey]: {} }, code: -32022 },
    { name: 'a legacy version', meta: { [versionKey]: '2025-11-25', [capabilitiesKey]: {} }, code: -32022 },
  ])('with $name is refused', async ({ meta, code }) => {
    const { error } = await rawPeer().request(0, 'tools/list', { _meta: meta });
    expect(error?.code).toBe(code);
    if (code === -32022)
      expect(error?.data).toEqual({ supported: revisions, requested: Reflect.get(meta, versionKey) });
  });

  it('of a modern request is needed in a legacy session too', async () => {
    const peer = rawPeer();
    await peer.request(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    expect((await peer.request(2, 'tools/list', { _meta: { [versionKey]: '2026-07-28' } })).error?.code).toBe(-32602);
    expect((await peer.request(3, 'tools/list', modernParams())).result?.resultType).toBe('complete');
    expect((await peer.request(4, 'tools/list')).result).not.toHaveProperty('resultType');
  });
});

describe('results', () => {
  it.each([
    { method: 'server/discover', params: {}, ttlMs: 3_600_000, cacheScope: 'public' },
    { method: 'tools/list', params: {}, ttlMs: 0, cacheScope: 'public' },
    { method: 'prompts/list', params: {}, ttlMs: 0, cacheScope: 'public' },
    { method: 'resources/list', params: {}, ttlMs: 0, cacheScope: 'public' },
    { method: 'resources/templates/list', params: {}, ttlMs: 3_600_000, cacheScope: 'public' },
    { method: 'resources/read', params: { uri: 'demo://about' }, ttlMs: 0, cacheScope: 'private' },
  ])('of $method contain their lifetime', async ({ method, params, ttlMs, cacheScope }) => {
    const { result } = await rawPeer().request('a', method, modernParams(params));
    expect(result).toMatchObject({ resultType: 'complete', ttlMs, cacheScope });
    expect(result?._meta).toMatchObject({ [serverInfoKey]: { name: 'bascule-demo' } });
  });

  it.each([
    { method: 'tools/call', params: { name: 'echo', arguments: { message: 'a' } } },
    { method: 'prompts/get', params: { name: 'review_note' } },
    {
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'language', value: '' } },
    },
  ])('of $method are not for keeping', async ({ method, params }) => {
    const { result } = await rawPeer().request('a', method, modernParams(params));
    expect(result).toMatchObject({ resultType: 'complete', _meta: { [serverInfoKey]: { name: 'bascule-demo' } } });
    expect(result).not.toHaveProperty('ttlMs');
    expect(result).not.toHaveProperty('cacheScope');
  });

  it('of discovery name every revision', async () => {
    const { result } = await rawPeer().request(1, 'server/discover', modernParams());
    expect(result).toMatchObject({ supportedVersions: revisions, capabilities: { tools: { listChanged: true } } });
  });

  it.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'constructor'])(
    'do not exist for %s',
    async (method) => {
      expect((await rawPeer().request(1, method, modernParams())).error?.code).toBe(-32601);
    },
  );

  it.each([
    { method: 'tools/call', params: { name: 'nothing' } },
    { method: 'tools/call', params: { name: 'echo', arguments: 'hi' } },
    { method: 'prompts/get', params: { name: 'nothing' } },
    { method: 'prompts/get', params: { name: 'greet' } },
    { method: 'resources/read', params: { uri: 'demo://nothing' } },
    { method: 'resources/read', params: { uri: 'demo://phrasebook/%/hello' } },
    { method: 'resources/list', params: { cursor: '' } },
    { method: 'tools/list', params: { cursor: 'x' } },
    { method: 'completion/complete', params: { ref: { type: 'ref/tool' }, argument: { name: 'a', value: '' } } },
    { method: 'subscriptions/listen', params: {} },
    { method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions: 'demo://note' } } },
  ])('are refused to $method with $params', async ({ method, params }) => {
    expect((await rawPeer().request(1, method, modernParams(params))).error?.code).toBe(-32602);
  });

  it.each([
    { name: 'echo', arguments: {} },
    { name: 'count', arguments: { n: 1.5 } },
    { name: 'log', arguments: { level: 'loud' } },
  ])('of $name report bad arguments to the model', async (params) => {
    const { result } = await rawPeer().request(1, 'tools/call', modernParams(params));
    expect(result).toMatchObject({ resultType: 'complete', isError: true });
  });
});

describe('rounds', () => {
  const able = { elicitation: {}, sampling: {}, roots: {} };

  async function round(peer: RawPeer, id: number, params: object, method = 'tools/call'): Promise<Message['result']> {
    return (await peer.request(id, method, modernParams(params, able))).result;
  }

  it('end with input requests, and continue with the answers', async () => {
    const peer = rawPeer();
    const asked = await round(peer, 1, { name: 'two_questions' });
    expect(asked).toMatchObject({
      resultType: 'input_required',
      inputRequests: { colour: { method: 'elicitation/create' }, number: { method: 'elicitation/create' } },
      requestState: expect.any(String),
      _meta: { [serverInfoKey]: {} },
    });
    const { requestState } = asked ?? {};
    const inputResponses = {
      colour: { action: 'accept', content: { colour: 'blue' } },
      number: { action: 'accept', content: { number: 0 } },
    };
    const done = await round(peer, 2, { name: 'two_questions', inputResponses, requestState });
    expect(done).toMatchObject({ resultType: 'complete', content: [{ text: 'You like blue and 0' }] });
  });

  it('request missing answers again, and keep the others', async () => {
    const peer = rawPeer();
    const { requestState: first } = (await round(peer, 1, { name: 'two_questions' })) ?? {};
    const some = { colour: { action: 'accept', content: { colour: 'blue' } }, other: { action: 'accept' } };
    const again = await round(peer, 2, { name: 'two_questions', inputResponses: some, requestState: first });
    expect(Object.keys(again?.inputRequests ?? {})).toEqual(['number']);
    const rest = { number: { action: 'cancel' } };
    const requestState = again?.requestState;
    const done = await round(peer, 3, { name: 'two_questions', inputResponses: rest, requestState });
    expect(done?.content).toEqual([{ type: 'text', text: 'You like blue and no number' }]);
  });

  it('follow one another, in another server if need be', async () => {
    const first = await round(rawPeer(), 1, { name: 'interview' });
    const name = { action: 'accept', content: { name: 'Ada' } };
    const second = await round(rawPeer(), 2, {
      name: 'interview',
      inputResponses: { name },
      requestState: first?.requestState,
    });
    expect(second?.inputRequests).toMatchObject({ wish: { params: { message: 'What do you wish for, Ada?' } } });
    const wish = { action: 'accept', content: { wish: 'peace' } };
    const third = await round(rawPeer(), 3, {
      name: 'interview',
      inputResponses: { wish },
      requestState: second?.requestState,
    });
    expect(third?.content).toEqual([{ type: 'text', text: 'Ada wishes for peace' }]);
  });

  it.each([
    { method: 'prompts/get', params: { name: 'introduce' } },
    { method: 'resources/read', params: { uri: 'demo://letter/french' } },
  ])('happen in $method too, and carry no cache hints', async ({ method, params }) => {
    const result = await round(rawPeer(), 1, params, method);
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { name: {} } });
    expect(result).not.toHaveProperty('ttlMs');
  });

  it('request roots without parameters', async () => {
    expect((await round(rawPeer(), 1, { name: 'list_roots' }))?.inputRequests).toEqual({
      roots: { method: 'roots/list' },
    });
  });

  it.each([
    { name: 'ask_name', capabilities: {}, required: { elicitation: { form: {} } } },
    { name: 'ask_name', capabilities: { elicitation: { url: {} } }, required: { elicitation: { form: {} } } },
    { name: 'ask_url', capabilities: { elicitation: {} }, required: { elicitation: { url: {} } } },
    { name: 'summarise', capabilities: { roots: {} }, required: { sampling: {} } },
    { name: 'list_roots', capabilities: { elicitation: {} }, required: { roots: {} } },
  ])('of $name need $required', async ({ name, capabilities, required }) => {
    const params = modernParams({ name, arguments: { text: 'long' } }, capabilities);
    const { error } = await rawPeer().request(1, 'tools/call', params);
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: required } });
  });

  it.each([
    { name: 'an invalid state', params: { requestState: '!!!' } },
    { name: 'a state that is no object', params: { requestState: Buffer.from('[]').toString('base64url') } },
    { name: 'a state that is no string', params: { requestState: 7 } },
    { name: 'answers that are no object', params: { inputResponses: [] } },
    { name: 'an answer that is no object', params: { inputResponses: { visitor: 'Ada' } } },
  ])('refuse $name', async ({ params }) => {
    const { error } = await rawPeer().request(1, 'tools/call', modernParams({ name: 'ask_name', ...params }, able));
    expect(error?.code).toBe(-32602);
  });
});

describe('listening', () => {
  const listen = (id: string | number, notifications: object): object => ({
    jsonrpc: '2.0',
    id,
    method: 'subscriptions/listen',
    params: modernParams({ notifications }),
  });

  it('is acknowledged first, with the honoured filter', async () => {
    const peer = rawPeer();
    const wish = {
      promptsListChanged: true,
      toolsListChanged: false,
      resourceSubscriptions: ['demo://note', 'x:y', 3],
    };
    peer.send(listen(0, { ...wish, other: true }));
    expect(peer.inbox.messages).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: {
          _meta: { [subscriptionKey]: 0 },
          notifications: { promptsListChanged: true, resourceSubscriptions: ['demo://note'] },
        },
      },
    ]);
  });

  it('sends each stream the changes that it requested, under its own id', async () => {
    const peer = rawPeer();
    peer.send(listen('tools', { toolsListChanged: true }));
    peer.send(listen(7, { resourceSubscriptions: ['demo://note'], resourcesListChanged: true }));
    for (const name of ['toggle_tool', 'toggle_prompt', 'toggle_resource', 'touch_note']) {
      await peer.request(name, 'tools/call', modernParams({ name }));
    }
    const heard = peer.inbox.messages.filter(({ method }) => method?.match(/list_changed|updated/));
    expect(heard.map(({ method, params }) => ({ method, params }))).toEqual([
      { method: 'notifications/tools/list_changed', params: { _meta: { [subscriptionKey]: 'tools' } } },
      { method: 'notifications/resources/list_changed', params: { _meta: { [subscriptionKey]: 7 } } },
      { method: 'notifications/resources/updated', params: { uri: 'demo://note', _meta: { [subscriptionKey]: 7 } } },
    ]);
  });

  it('ends in silence when the client cancels it', async () => {
    const peer = rawPeer();
    peer.send(listen('a', { toolsListChanged: true }));
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } });
    await peer.request(1, 'tools/call', modernParams({ name: 'toggle_tool' }));
    peer.close();
    expect(peer.inbox.messages.map(({ id, method }) => id ?? method)).toEqual([
      'notifications/subscriptions/acknowledged',
      1,
    ]);
  });

  it('ends with a cancellation and a result when the server does', async () => {
    const peer = rawPeer();
    peer.send(listen('a', { toolsListChanged: true }));
    peer.close();
    expect(peer.inbox.messages.slice(1)).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: 'a' } },
      { id: 'a', result: { resultType: 'complete', _meta: { [subscriptionKey]: 'a', [serverInfoKey]: {} } } },
    ]);
  });
});

describe('cancelling', () => {
  it('distinguishes 0 from "0", and sends no answer and no further progress', async () => {
    const peer = rawPeer();
    const counting = modernParams({ name: 'count', arguments: { n: 1000, pauseMs: 1 } }, {}, { progressToken: 'slow' });
    peer.send({ jsonrpc: '2.0', id: 0, method: 'tools/call', params: counting });
    await peer.inbox.find(({ method }) => method === 'notifications/progress');
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: '0' } });
    expect((await peer.request(0, 'tools/list', modernParams())).error?.message).toBe('This id is in use');
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 0 } });
    const before = peer.inbox.named('notifications/progress').length;
    await peer.request(1, 'tools/call', modernParams({ name: 'count', arguments: { n: 5, pauseMs: 1 } }));
    expect(peer.inbox.named('notifications/progress')).toHaveLength(before);
    expect(peer.inbox.messages.filter(({ id, result }) => id === 0 && result !== undefined)).toEqual([]);
    expect(peer.complaints).toEqual([]);
  });

  it.each([{ requestId: 'unknown' }, { requestId: null }, {}])('ignores %j', async (params) => {
    const peer = rawPeer();
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    expect((await peer.request(1, 'tools/list', modernParams())).result).toBeDefined();
    expect(peer.inbox.messages).toHaveLength(1);
  });
});
