/** What the gateway writes around a request to a modern backend, and never into a legacy session. */
import { describe, expect, it } from 'vitest';
import { diverges, verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, cancelled, notification, request } from '../harness/behind.ts';
import { type Json, type OpenAnswer, send, until } from '../harness/client.ts';
import { connectLegacy, type LegacyClient, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Script, ScriptedBackend, Turn } from '../harness/http-backend.ts';
import { modernProcess, type StdioTurn } from '../harness/stdio-backend.ts';

const key = (name: string) => `io.modelcontextprotocol/${name}`;
const revision = '2026-07-28';
const info = { name: 'raw', version: '1' };

/** One of each request that both eras have. */
const requests: readonly { method: string; params?: Readonly<Record<string, unknown>> }[] = [
  { method: 'tools/list' },
  { method: 'tools/call', params: { name: 'work', arguments: { a: 1 } } },
  { method: 'resources/list', params: { cursor: 'c' } },
  { method: 'resources/templates/list' },
  { method: 'resources/read', params: { uri: 'a:b' } },
  { method: 'prompts/list', params: {} },
  { method: 'prompts/get', params: { name: 'p' } },
  {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } },
  },
];

const results: Readonly<Record<string, object>> = {
  'tools/list': { tools: [] },
  'tools/call': { content: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [] },
  'prompts/list': { prompts: [] },
  'prompts/get': { messages: [] },
  'completion/complete': { completion: { values: [] } },
};

const script = (more: object = {}): Script =>
  Object.fromEntries(
    Object.entries(results).map(([method, result]) => [method, (turn: Turn) => turn.result({ ...result, ...more })]),
  );

const modernMore = { resultType: 'complete', ttlMs: 5, cacheScope: 'public', _meta: { [key('serverInfo')]: info } };

const listed = (turn: StdioTurn) => turn.result({ resultType: 'complete', prompts: [] });

describe('towards a modern backend', () => {
  const capabilities = { elicitation: { form: {} }, sampling: {} };
  const posts = (backend: ScriptedBackend) => backend.received.filter(({ http }) => http === 'POST');

  it(
    'every request carries the envelope, and its headers agree',
    verifies('lifecycle:stateless:request-envelope', 'lifecycle:envelope:header-matches-meta'),
    async () => {
      const { url, backend } = await behindModern(script(modernMore));
      const client = await connectLegacy(url, { capabilities });
      for (const { method, params } of requests) {
        expect((await client.post(request(1, method, params))).json().result).toEqual(results[method]);
        expect((await send(url, modern({ method, ...(params && { params }), capabilities }))).status).toBe(200);
      }
      // The gateway asks for itself what it has to know: the lists of tools, and what changes.
      const sent = posts(backend).filter(({ message }) => message.method !== 'initialize');
      const theirs = sent.filter(({ message }) => message.params._meta[key('clientInfo')]?.name === 'raw');
      expect(theirs.length).toBeGreaterThanOrEqual(2 * requests.length);
      for (const { message } of theirs) {
        expect(message.params._meta).toEqual({
          [key('protocolVersion')]: revision,
          [key('clientInfo')]: info,
          [key('clientCapabilities')]: capabilities,
        });
      }
      for (const { message, headers } of sent) {
        expect(message.params._meta[key('protocolVersion')]).toBe(revision);
        expect(headers['mcp-protocol-version']).toBe(revision);
      }
    },
  );

  it(
    'one initialize probes for a legacy half, without a session',
    diverges('lifecycle:stateless:no-initialize'),
    async () => {
      const { url, backend } = await behindModern(script(modernMore));
      const client = await connectLegacy(url);
      await client.post(request(1, 'prompts/list'));
      await client.post(notification('notifications/roots/list_changed'));
      await send(url, modern({ method: 'prompts/list' }));
      await client.end();
      expect(backend.of('initialize')).toHaveLength(1);
      expect(backend.of('notifications/initialized')).toEqual([]);
      expect(backend.received.filter(({ http, headers }) => http !== 'POST' || headers['mcp-session-id'])).toEqual([]);
    },
  );

  it(
    'over stdio one initialize probes for a legacy half, in another process, when a legacy client connects',
    diverges('lifecycle:stateless:no-initialize'),
    async () => {
      const backend = await modernProcess({ 'prompts/list': listed });
      const gateway = await startGateway({ backends: { b: { command: backend.command, args: backend.args } } });
      await send(gateway.url('b'), modern({ method: 'prompts/list' }));
      expect(backend.of('initialize')).toEqual([]);
      const client = await connectLegacy(gateway.url('b'));
      await client.post(request(1, 'prompts/list'));
      const [serving, asked] = backend.processes.map(({ received }) => received.map(({ method }) => method));
      expect(serving).not.toContain('initialize');
      expect(asked).toEqual(['initialize']);
      expect(backend.of('notifications/initialized')).toEqual([]);
    },
  );

  it(
    'the members of the client stay, and those of the protocol are rewritten',
    verifies('lifecycle:stateless:caller-meta-preserved'),
    async () => {
      const { url, backend } = await behindModern(script(modernMore));
      const own = {
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        'example.com/x': { a: [1.5] },
      };
      const meta = { ...own, progressToken: 'mine', [key('subscriptionId')]: 9, [key('other')]: 'kept' };
      const carried = { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/ui': {} };
      const extensions = { ...carried, 'example.com/unknown': {} };
      await send(url, modern({ method: 'prompts/list', meta, capabilities: { extensions } }));
      const [{ message }] = backend.of('prompts/list') as [Json];
      expect(message.params._meta).toEqual({
        ...own,
        [key('other')]: 'kept',
        [key('protocolVersion')]: revision,
        [key('clientInfo')]: info,
        [key('clientCapabilities')]: { extensions: carried },
        progressToken: message.id,
      });
    },
  );

  it('notifications have no envelope', verifies('lifecycle:envelope:stamped-on-every-request'), async () => {
    const backend = await modernProcess({ 'prompts/list': listed, 'resources/read': () => undefined });
    const gateway = await startGateway({ backends: { b: { command: backend.command, args: backend.args } } });
    const url = gateway.url('b');
    await send(url, modern({ method: 'prompts/list' }));
    const client = await connectLegacy(url);
    const waiting = client.stream(request('w', 'resources/read', { uri: 'a:b' }));
    await backend.arrival('resources/read');
    await client.post(cancelled('w', 'enough'));
    const { message } = await backend.arrival('notifications/cancelled');
    expect(message.params).toEqual({ requestId: backend.of('resources/read')[0]?.message.id, reason: 'enough' });
    await (await waiting).ended;
    const sent = backend.processes.flatMap(({ received }) => received);
    expect(sent.map(({ method }) => method)).toEqual(
      expect.arrayContaining(['server/discover', 'prompts/list', 'resources/read', 'notifications/cancelled']),
    );
    for (const one of sent) {
      if (one.id === undefined) expect(one.params).not.toHaveProperty('_meta');
      else if (one.method !== 'initialize')
        expect(one.params._meta).toMatchObject({ [key('protocolVersion')]: revision });
    }
  });
});

describe('in a legacy session', () => {
  /** What 2026-07-28 introduced: members, keys of `_meta`, methods and headers. */
  const words = [
    ...['resultType', 'ttlMs', 'cacheScope', 'inputRequests', 'inputResponses', 'requestState', 'supportedVersions'],
    ...['io.modelcontextprotocol/', 'server/discover', 'subscriptions/'],
    ...['mcp-method', 'mcp-name', 'mcp-param-'],
  ];
  const modernWords = (frame: unknown) =>
    words.filter((word) => JSON.stringify(frame).toLowerCase().includes(word.toLowerCase()));

  /** Everything a client does, and everything that it gets for it. */
  async function live(client: LegacyClient, listening: OpenAnswer): Promise<unknown[]> {
    const frames: unknown[] = [client.initialized];
    for (const { method, params } of requests) {
      const answer = await client.post(request(method, method, { ...params, _meta: { progressToken: method } }));
      frames.push(answer.headers, answer.body);
    }
    frames.push((await client.post(request('s', 'logging/setLevel', { level: 'debug' }))).body);
    frames.push((await client.post(request('u', 'no/such/method'))).body);
    frames.push(...listening.events.map(({ data }) => data ?? ''));
    return frames;
  }

  it('no frame contains a member of the modern era', verifies('lifecycle:stateless:unpinned-legacy-wire'), async () => {
    const { url, backend, gateway } = await behindLegacy({
      ...script(),
      'logging/setLevel': (turn) => turn.result({}),
    });
    await gateway.assembled.backends.get('b')?.discover();
    backend.forget();
    const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
    const standing = await backend.standing();
    const listening = await client.listen();
    standing.event(notification('notifications/tools/list_changed'));
    await until(() => listening.events.some(({ data }) => data), 'the change is announced');
    const frames = await live(client, listening);
    expect(frames.flatMap(modernWords)).toEqual([]);
    const upstream = backend.received.map(({ headers, text }) => ({ headers, text }));
    expect(upstream.length).toBeGreaterThan(requests.length);
    expect(upstream.flatMap(modernWords)).toEqual([]);
  });

  it('nor if the backend is modern', verifies('lifecycle:stateless:unpinned-legacy-wire'), async () => {
    const { url } = await behindModern(script(modernMore));
    const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
    const frames = await live(client, await client.listen());
    expect(frames.flatMap(modernWords)).toEqual([]);
  });
});
