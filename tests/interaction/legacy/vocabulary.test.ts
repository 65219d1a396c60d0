/** Words of 2026-07-28: in no frame of a legacy exchange, on either side, and untouched where they are content. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, call, echo, notification, request, result, text } from '../harness/behind.ts';
import { type Answer, type Json, type OpenAnswer, send, until } from '../harness/client.ts';
import { connectLegacy, initialize, type LegacyClient, modern } from '../harness/eras.ts';
import type { Received, Script, Turn } from '../harness/http-backend.ts';

const core = 'io.modelcontextprotocol/';
const modernKeys = [
  'protocolVersion',
  'clientInfo',
  'clientCapabilities',
  'logLevel',
  'subscriptionId',
  'serverInfo',
].map((key) => core + key);
const modernResultMembers = [
  'resultType',
  'ttlMs',
  'cacheScope',
  'inputRequests',
  'inputResponses',
  'requestState',
  'supportedVersions',
];
const modernCodes = [-32020, -32021, -32022];

/** What a frame holds in protocol positions that only 2026-07-28 has. */
function modernWordsIn(frame: Json): string[] {
  const metas = [frame.params?._meta, frame.result?._meta].filter((meta) => meta !== undefined);
  return [
    ...modernResultMembers.filter((key) => frame.result !== undefined && key in frame.result),
    ...['inputResponses', 'requestState'].filter((key) => frame.params !== undefined && key in frame.params),
    ...metas.flatMap((meta) => modernKeys.filter((key) => key in meta)),
    ...(modernCodes.includes(frame.error?.code) ? [String(frame.error.code)] : []),
    ...('extensions' in (frame.result?.capabilities ?? {}) ? ['extensions'] : []),
    ...(frame.method === 'notifications/subscriptions/acknowledged' ? [frame.method] : []),
  ];
}

const modernHeaders = ['mcp-method', 'mcp-name'];

function framesOf({ headers, events, body }: Pick<Answer, 'headers' | 'events' | 'body'>): Json[] {
  if (headers['content-type'] === 'text/event-stream') {
    return events.filter(({ data }) => data).map((event) => event.json());
  }
  return body === '' ? [] : [JSON.parse(body)];
}

function streamed(stream: OpenAnswer) {
  return { headers: stream.headers, events: stream.events, body: '' };
}

const serverInfo = { name: 'modern', version: '1' };
const _meta = { [`${core}serverInfo`]: serverInfo, 'example.com/kept': true };
const cached = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public', _meta };

/** A modern backend that says everything that its era has to say. */
const talkative: Script = {
  'server/discover': (turn) =>
    turn.result({
      ...cached,
      supportedVersions: ['2026-07-28'],
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        resources: {},
        logging: {},
        completions: {},
        extensions: { 'io.modelcontextprotocol/tasks': {}, 'example.com/ui': {} },
      },
    }),
  'tools/list': (turn) => turn.result({ ...cached, tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
  'prompts/list': (turn) => turn.result({ ...cached, prompts: [{ name: 'p' }] }),
  'prompts/get': (turn) => turn.result({ resultType: 'complete', _meta, messages: [] }),
  'resources/list': (turn) => turn.result({ ...cached, resources: [{ uri: 'file:///a', name: 'a' }] }),
  'resources/templates/list': (turn) => turn.result({ ...cached, resourceTemplates: [] }),
  'resources/read': (turn) => turn.result({ ...cached, contents: [{ uri: 'file:///a', text: 'a' }] }),
  'completion/complete': (turn) => turn.result({ resultType: 'complete', _meta, completion: { values: [] } }),
  'tools/call': (turn) => toolCall(turn),
  'subscriptions/listen': (turn) => {
    const tag = { [`${core}subscriptionId`]: turn.message.id };
    const notifications = { toolsListChanged: true };
    turn
      .stream()
      .event(notification('notifications/subscriptions/acknowledged', { notifications, _meta: tag }))
      .event(notification('notifications/tools/list_changed', { _meta: { ...tag, 'example.com/kept': true } }))
      .event(notification('notifications/tools/list_changed', { _meta: tag }));
  },
};

function toolCall(turn: Turn): void {
  const { arguments: given, inputResponses, _meta: meta } = turn.message.params;
  if (given.code !== undefined) {
    turn.error(given.code, 'modern', { supported: ['2026-07-28'], requiredCapabilities: { roots: {} } }, 400);
  } else if (given.ask && inputResponses === undefined) {
    const params = { message: '?', requestedSchema: { type: 'object', properties: {} } };
    turn.result({
      resultType: 'input_required',
      inputRequests: { q: { method: 'elicitation/create', params } },
      requestState: 'state',
      _meta,
    });
  } else {
    const progressToken = meta.progressToken;
    turn
      .stream()
      .event(notification('notifications/progress', { progressToken, progress: 1 }))
      .event(notification('notifications/message', { level: 'info', data: 'x' }))
      .event(result(turn.message.id, { resultType: 'complete', _meta, ...text('done') }))
      .end();
  }
}

async function everythingOf(client: LegacyClient): Promise<Answer[]> {
  const requests = [
    request(1, 'ping'),
    request(2, 'logging/setLevel', { level: 'debug' }),
    request(3, 'tools/list'),
    request(4, 'prompts/list'),
    request(5, 'prompts/get', { name: 'p' }),
    request(6, 'resources/list'),
    request(7, 'resources/templates/list'),
    request(8, 'resources/read', { uri: 'file:///a' }),
    request(9, 'completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }),
    call(10, {}, { progressToken: 'p' }),
    ...modernCodes.map((code) => call(code, { code })),
    request(11, 'server/discover'),
    request(12, 'no/such/method'),
    { jsonrpc: '2.0', id: 13 },
  ];
  const answers: Answer[] = [];
  for (const message of requests) answers.push(await client.post(message));
  answers.push(await client.post(request(14, 'ping'), { 'mcp-protocol-version': '2099-01-01' }));
  answers.push(await client.post(request(15, 'ping'), { 'mcp-session-id': 'unknown' }));
  return answers;
}

describe.each(['2025-06-18', '2025-11-25'])('towards a client of %s', (revision) => {
  it(
    'no frame from a modern backend contains a member of 2026-07-28',
    verifies('gateway:legacy:vocabulary', 'hosting:http:legacy-no-modern-vocabulary'),
    async () => {
      const { url } = await behindModern(talkative);
      const capabilities = { elicitation: {} };
      const opened = await send(url, { body: initialize({ revision, capabilities }) });
      const client = await connectLegacy(url, { revision, capabilities });
      const listening = await client.listen();
      const changes = () => framesOf(streamed(listening));
      await until(() => changes().length === 2, 'the changes were told');
      const asked = await client.stream(call('asked', { ask: true }));
      const question = await asked.message(({ method }) => method === 'elicitation/create');
      const taken = await client.post(result(question.id, { action: 'accept', content: {} }));
      await asked.ended;
      const answers = [opened, taken, streamed(asked), ...(await everythingOf(client)), streamed(listening)];
      const frames = answers.flatMap(framesOf);
      // The handshake, a question and its call, the requests with two notifications among them, two refusals.
      expect(frames.length).toBeGreaterThanOrEqual(24);
      expect(frames.filter((frame) => modernWordsIn(frame).length > 0)).toEqual([]);
      expect(changes().map(({ method }) => method)).toEqual(Array(2).fill('notifications/tools/list_changed'));
      // Something of the backend's own is left where something was taken out.
      expect(frames.find(({ id }) => id === 3).result._meta).toEqual({ 'example.com/kept': true });
      for (const { headers } of answers) {
        expect(
          Object.keys(headers).filter((name) => modernHeaders.includes(name) || name.startsWith('mcp-param-')),
        ).toEqual([]);
      }
    },
  );
});

describe('content that looks like it', verifies('gateway:legacy:vocabulary'), () => {
  const lookalike = {
    resultType: 'input_required',
    ttlMs: 1,
    cacheScope: 'public',
    inputRequests: { a: 1 },
    requestState: 's',
    _meta: { [`${core}serverInfo`]: 'mine' },
  };
  const content = [
    { type: 'text', text: JSON.stringify(lookalike), _meta: lookalike._meta },
    { type: 'resource', resource: { uri: 'x:y', text: 'resultType', ...lookalike } },
  ];

  it('is unchanged in results and in arguments, whatever the era of the backend', async () => {
    const script: Script = {
      'tools/call': (turn) =>
        turn.result({
          ...(turn.received.headers['mcp-method'] === undefined ? {} : { resultType: 'complete', _meta }),
          content,
          structuredContent: lookalike,
        }),
    };
    for (const { url, backend } of [await behindModern(script), await behindLegacy(script)]) {
      const client = await connectLegacy(url);
      const answer = await client.post(call(1, lookalike));
      const { _meta: _kept, ...members } = answer.json().result;
      expect(members).toEqual({ content, structuredContent: lookalike });
      expect(backend.of('tools/call')[0]?.message.params.arguments).toEqual(lookalike);
    }
  });

  it('is unchanged in the capabilities and info of a legacy backend', async () => {
    const facts = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/ui': { resultType: 1 } } },
      serverInfo: { name: 'x', version: '1' },
      _meta: { 'example.com/kept': lookalike },
    };
    const { url } = await behindLegacy({ initialize: (turn) => turn.result(facts) });
    expect((await send(url, { body: initialize() })).json()).toEqual(result('init', facts));
  });

  it('is unchanged in the capabilities and info of a client', async () => {
    const { url, backend } = await behindLegacy();
    const capabilities = { experimental: { resultType: { ttlMs: 1 } } };
    await connectLegacy(url, { capabilities });
    expect(backend.of('initialize').at(-1)?.message.params.capabilities).toEqual(capabilities);
  });
});

describe('towards a legacy backend', () => {
  const modernWordsTo = ({ message, headers }: Received) => [
    ...(message === undefined ? [] : modernWordsIn(message)),
    ...Object.keys(headers).filter((name) => modernHeaders.includes(name) || name.startsWith('mcp-param-')),
    ...(headers['mcp-protocol-version'] === '2026-07-28' ? ['2026-07-28'] : []),
  ];

  it(
    'no frame of a modern client contains a member of 2026-07-28, except for the probe',
    verifies('gateway:legacy:vocabulary', 'hosting:http:legacy-no-modern-vocabulary'),
    async () => {
      const { url, backend } = await behindLegacy(echo);
      const params = { name: 'work', arguments: { n: 1 }, inputResponses: { a: {} } };
      const meta = { progressToken: 'p', [`${core}logLevel`]: 'debug', traceparent: '00-1-1-00' };
      const headers = { 'mcp-param-region': 'eu' };
      const answer = await send(url, modern({ id: 1, method: 'tools/call', params, meta, headers }));
      expect(answer.json().result.resultType).toBe('complete');
      await send(url, modern({ id: 2, method: 'tools/list' }));
      const [probe, ...others] = backend.received.filter(({ http }) => http !== 'GET' && http !== 'DELETE');
      expect(probe?.message.method).toBe('server/discover');
      expect(others.flatMap(modernWordsTo)).toEqual([]);
      expect(backend.received.filter(({ http }) => http !== 'POST').flatMap(modernWordsTo)).toEqual([]);
      // The trace goes on, under our own token.
      const sent = backend.of('tools/call')[0]?.message;
      expect(sent.params).toEqual({
        name: 'work',
        arguments: { n: 1 },
        _meta: { traceparent: '00-1-1-00', progressToken: sent.id },
      });
    },
  );

  it(
    'nor does one of a legacy client',
    verifies('gateway:legacy:vocabulary', 'hosting:http:legacy-no-modern-vocabulary'),
    async () => {
      const { url, backend } = await behindLegacy(echo);
      const client = await connectLegacy(url);
      const answers = await everythingOf(client);
      expect(answers.flatMap(framesOf).filter((frame) => modernWordsIn(frame).length > 0)).toEqual([]);
      expect(backend.received.slice(1).flatMap(modernWordsTo)).toEqual([]);
    },
  );
});
