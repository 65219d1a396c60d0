/** What the gateway says in HTTP headers to the backends that it is a client of. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, cancelled, echo, Held, request, result, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Received, type ScriptedBackend } from '../harness/http-backend.ts';

const both = 'application/json, text/event-stream';

/** What belongs to one upstream session, its `initialize` left out. */
function under({ received }: ScriptedBackend, session: string): readonly Received[] {
  return received.filter(({ headers }) => headers['mcp-session-id'] === session);
}

const kindOf = ({ http, message }: Received) => message?.method ?? (message === undefined ? http : 'response');

/** A legacy session with everything that can happen in one. */
async function wholeSession() {
  const held = new Held();
  const backend = await legacyBackend({ 'tools/call': held.take });
  const headers = { 'X-Team': 'blue', Authorization: 'Bearer of-the-gateway' };
  const gateway = await startGateway({ backends: { b: { url: backend.url, headers } } });
  const client = await connectLegacy(gateway.url('b'), { revision: '2025-06-18', capabilities: { roots: {} } });
  const standing = await backend.standing();
  const first = client.post(call(1));
  (await held.nth(1))
    .stream()
    .event(request('q', 'roots/list'))
    .event(result((await held.nth(1)).message.id, text('1')))
    .end();
  await first;
  const second = client.post(call(2));
  await held.nth(2);
  await client.post(cancelled(2));
  await second;
  await until(
    () => backend.received.some(({ message }) => message?.error !== undefined || message?.result !== undefined),
    'the question was answered',
  );
  await backend.arrival('notifications/cancelled');
  expect((await client.end()).status).toBe(204);
  const ended = () => under(backend, 'upstream-2').some(({ http }) => http === 'DELETE');
  await until(ended, 'the upstream session was ended');
  await standing.closed;
  return backend;
}

describe('a legacy backend', () => {
  it(
    'gets session and revision with every request after initialize, and the configured headers always',
    verifies(
      'client-transport:http:session-stored',
      'client-transport:http:protocol-version-header',
      'client-transport:http:custom-headers',
      'client-transport:http:accept-header-post',
      'client-transport:http:accept-header-get',
    ),
    async () => {
      const backend = await wholeSession();
      const session = under(backend, 'upstream-2');
      expect(new Set(session.map(kindOf))).toEqual(
        new Set(['notifications/initialized', 'GET', 'tools/call', 'response', 'notifications/cancelled', 'DELETE']),
      );
      for (const { headers } of session) expect(headers['mcp-protocol-version']).toBe('2025-06-18');
      for (const { http, headers } of backend.received) {
        expect(headers).toMatchObject({ 'x-team': 'blue', authorization: 'Bearer of-the-gateway' });
        if (http === 'POST') expect(headers).toMatchObject({ accept: both, 'content-type': 'application/json' });
        if (http === 'GET') expect(headers.accept).toBe('text/event-stream');
      }
      // Nothing is agreed on yet.
      for (const { headers } of backend.of('initialize')) {
        expect(headers['mcp-session-id']).toBeUndefined();
        expect(headers['mcp-protocol-version']).toBeUndefined();
      }
      // Everything stands in one session or before any.
      const outside = backend.received.filter(({ headers }) => headers['mcp-session-id'] === undefined);
      expect(outside.map(kindOf)).toEqual(['server/discover', 'initialize', 'initialize']);
    },
  );

  it(
    'gets the revision that it negotiated with this client, whatever others negotiated',
    verifies('client-transport:http:protocol-version-stored'),
    async () => {
      const older = await legacyBackend(echo, { revision: '2025-06-18' });
      const flexible = await legacyBackend(echo);
      const gateway = await startGateway({
        backends: { older: { url: older.url }, flexible: { url: flexible.url } },
      });
      const clients = await Promise.all([
        connectLegacy(gateway.url('older'), { revision: '2025-11-25' }),
        connectLegacy(gateway.url('flexible'), { revision: '2025-06-18' }),
        connectLegacy(gateway.url('flexible'), { revision: '2025-11-25' }),
        connectLegacy(gateway.url('flexible'), { revision: '2024-11-05' }),
      ]);
      for (const [at, client] of clients.entries()) await client.post(call(1, { client: at }));
      const told = (backend: ScriptedBackend) =>
        Object.fromEntries(
          backend
            .of('tools/call')
            .map(({ message, headers }) => [message.params.arguments.client, headers['mcp-protocol-version']]),
        );
      expect(told(older)).toEqual({ 0: '2025-06-18' });
      // The header came with 2025-06-18.
      expect(told(flexible)).toEqual({ 1: '2025-06-18', 2: '2025-11-25', 3: undefined });
    },
  );
});

describe('a modern backend', () => {
  it(
    'gets revision, method and name as in the body, and the configured headers',
    verifies(
      'client-transport:http:body-derived-headers',
      'client-transport:http:protocol-version-header',
      'client-transport:http:custom-headers',
      'client-transport:http:accept-header-post',
    ),
    async () => {
      const answer = (turn: { result(result: object): void }) => turn.result({ resultType: 'complete' });
      const backend = await modernBackend({
        'tools/call': answer,
        'tools/list': answer,
        'prompts/get': answer,
        'resources/read': answer,
        'completion/complete': answer,
      });
      const gateway = await startGateway({ backends: { b: { url: backend.url, headers: { 'X-Team': 'blue' } } } });
      const url = gateway.url('b');
      const asked = [
        { method: 'tools/call', params: { name: 'plain_name' }, name: 'plain_name' },
        { method: 'tools/call', params: { name: 'größe' }, name: '=?base64?Z3LDtsOfZQ==?=' },
        { method: 'prompts/get', params: { name: ' padded ' }, name: '=?base64?IHBhZGRlZCA=?=' },
        { method: 'resources/read', params: { uri: 'note://a/b?c=d' }, name: 'note://a/b?c=d' },
        { method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'p' } }, name: undefined },
        { method: 'tools/list', params: {}, name: undefined },
      ];
      for (const [id, { method, params, name }] of asked.entries()) {
        backend.forget();
        const headers = name === undefined ? {} : { 'mcp-name': name };
        expect((await send(url, modern({ id, method, params, headers }))).json()).toMatchObject({ id, result: {} });
        const got = backend.of(method).at(-1);
        expect(got?.headers).toMatchObject({
          accept: both,
          'content-type': 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          'x-team': 'blue',
        });
        expect(got?.headers['mcp-name']).toBe(name);
      }
      // A legacy client says nothing of all this; it is told all the same.
      const client = await connectLegacy(url);
      await client.post(request(1, 'prompts/get', { name: 'größe' }));
      expect(backend.of('prompts/get').at(-1)?.headers).toMatchObject({
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'prompts/get',
        'mcp-name': '=?base64?Z3LDtsOfZQ==?=',
        'x-team': 'blue',
      });
    },
  );

  it(
    'gets the parameter headers of a client as they were encoded',
    verifies('client-transport:http:custom-param-headers'),
    async () => {
      const inputSchema = {
        type: 'object',
        properties: {
          region: { type: 'string', 'x-mcp-header': 'Region' },
          place: { type: 'object', properties: { city: { type: 'string', 'x-mcp-header': 'City' } } },
          count: { type: 'integer', 'x-mcp-header': 'Count' },
          dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
          note: { type: 'string', 'x-mcp-header': 'Note' },
        },
      };
      const backend = await modernBackend({
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [{ name: 'work', inputSchema }] }),
        'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('done') }),
      });
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const params = {
        name: 'work',
        arguments: { region: 'eu-west', place: { city: 'Zürich' }, count: 42, dry: false, note: '=?base64?eA==?=' },
      };
      const headers = {
        'mcp-param-region': 'eu-west',
        'mcp-param-city': '=?base64?WsO8cmljaA==?=',
        'mcp-param-count': '42',
        'mcp-param-dry': 'false',
        'mcp-param-note': '=?base64?PT9iYXNlNjQ/ZUE9PT89?=',
      };
      const answer = await send(gateway.url('b'), modern({ method: 'tools/call', params, headers }));
      expect(answer.json()).toMatchObject({ id: 1, result: text('done') });
      const [got] = backend.of('tools/call');
      expect(got?.headers).toMatchObject(headers);
      expect(got?.message.params.arguments).toEqual(params.arguments);
    },
  );

  it(
    'gets only POSTs, and never the session id that it sent',
    verifies('client-transport:http:stateless-ignores-session-id'),
    async () => {
      const backend = await modernBackend({
        'tools/list': (turn) =>
          turn.json(result(turn.message.id, { resultType: 'complete', tools: [] }), 200, { 'mcp-session-id': 'mine' }),
        'tools/call': (turn) =>
          turn
            .stream({ 'mcp-session-id': 'mine' })
            .event(result(turn.message.id, { resultType: 'complete', ...text('x') }))
            .end(),
      });
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const url = gateway.url('b');
      const work = modern({ method: 'tools/call', params: { name: 'work', arguments: {} } });
      for (const _ of [1, 2]) {
        const answer = await send(url, { ...work, headers: { ...work.headers, 'mcp-session-id': 'of-the-client' } });
        expect(answer.json()).toMatchObject({ result: text('x') });
        expect(answer.headers['mcp-session-id']).toBeUndefined();
      }
      const client = await connectLegacy(url);
      await client.post(call(1));
      await client.end();
      expect(backend.of('tools/call')).toHaveLength(3);
      expect(new Set(backend.received.map(({ http }) => http))).toEqual(new Set(['POST']));
      for (const { headers } of backend.received) expect(headers['mcp-session-id']).toBeUndefined();
    },
  );
});
