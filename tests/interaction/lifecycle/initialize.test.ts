/** Opening a legacy session: what each side learns of the other, and in which order. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  call,
  echo,
  expectRefused,
  Held,
  notification,
  request,
  result,
  text,
} from '../harness/behind.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';
import { Gate } from '../harness/gate.ts';
import { agreed, type ScriptedBackend, type ScriptedOptions } from '../harness/http-backend.ts';

/**
 * What a backend was told in the nth session that is a client's: the first `initialize` of all is the gateway's own.
 */
const introduction = (backend: ScriptedBackend, nth = 1): Json => backend.of('initialize')[nth]?.message.params;

describe('what a client gets to know of its backend', () => {
  async function learned(backend: ScriptedOptions): Promise<Json> {
    const { url } = await behindLegacy({}, { backend });
    const answer = await send(url, { body: initialize() });
    expect(answer.status).toBe(200);
    return answer.json();
  }

  it(
    'is its whole initialize result',
    verifies('lifecycle:initialize:server-info', 'lifecycle:initialize:instructions'),
    async () => {
      const serverInfo = { name: 'inner', version: '4.2', title: 'The inner one', websiteUrl: 'https://inner.example' };
      const instructions = 'Ask "nicely".\n\u00fc';
      expect(await learned({ serverInfo, instructions, capabilities: { tools: {} } })).toEqual(
        result('init', { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo, instructions }),
      );
    },
  );

  it(
    'is nothing that the backend does not declare',
    verifies('lifecycle:initialize:instructions', 'lifecycle:initialize:capabilities:minimal'),
    async () => {
      const serverInfo = { name: 'bare', version: '0' };
      expect(await learned({ serverInfo, capabilities: {} })).toEqual(
        result('init', { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }),
      );
    },
  );

  it(
    'are its capabilities, except for those that the gateway does not carry',
    verifies('lifecycle:initialize:capabilities:from-handlers'),
    async () => {
      const carried = {
        tools: {},
        prompts: { listChanged: true },
        resources: { subscribe: false },
        completions: {},
        experimental: { 'example.com/x': { deep: [1] } },
      };
      const tasks = { list: {}, requests: { tools: { call: {} } } };
      const { capabilities } = (await learned({ capabilities: { ...carried, tasks } })).result;
      // Backends' lists of tasks are never shown: they may have those of other principals.
      expect(capabilities).toEqual({ ...carried, tasks: { requests: { tools: { call: {} } } } });
    },
  );
});

describe('what a backend gets to know of its client', () => {
  it(
    'is its client info, and not that of an earlier client',
    verifies('lifecycle:initialize:client-info'),
    async () => {
      const { url, backend } = await behindLegacy();
      const infos = [
        { name: 'first', version: '1', title: 'The first' },
        { name: 'second', version: '2', icons: [{ src: 'https://example.com/2.png' }] },
      ];
      for (const clientInfo of infos) {
        const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
        await send(url, { body: request('init', 'initialize', params) });
      }
      expect([introduction(backend, 1), introduction(backend, 2)].map(({ clientInfo }) => clientInfo)).toEqual(infos);
    },
  );

  it(
    'are its capabilities, down to modes, and nothing more',
    verifies('lifecycle:initialize:client-capabilities'),
    async () => {
      const { url, backend } = await behindLegacy();
      const declared = [
        {},
        { elicitation: {} },
        { elicitation: { url: {} }, sampling: { tools: {} }, experimental: { 'example.com/x': {} } },
        { elicitation: { form: {}, url: {} }, sampling: { context: {} }, roots: {} },
      ];
      for (const capabilities of declared) await connectLegacy(url, { capabilities });
      const offered = declared.map((_, index) => introduction(backend, index + 1).capabilities);
      expect(offered).toEqual(declared);
    },
  );

  it(
    'are no capabilities that the gateway does not carry',
    verifies('lifecycle:initialize:client-capabilities'),
    async () => {
      const { url, backend } = await behindLegacy();
      const tasks = { requests: { elicitation: { create: {} } } };
      await connectLegacy(url, { capabilities: { roots: { listChanged: true }, tasks } });
      expect(introduction(backend).capabilities).toEqual({ roots: {} });
    },
  );
});

describe('the order of messages', () => {
  it('is a session that can be used at once', verifies('lifecycle:initialize:basic'), async () => {
    const { url } = await behindLegacy(echo);
    const answer = await send(url, { body: initialize() });
    const { protocolVersion, capabilities, serverInfo } = answer.json().result;
    expect({ status: answer.status, protocolVersion, serverInfo }).toEqual({
      status: 200,
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'legacy', version: '1' },
    });
    expect(capabilities).toMatchObject({ tools: {} });
    const session = String(answer.headers['mcp-session-id']);
    const called = await send(url, { body: call(1, { a: 1 }), headers: { 'mcp-session-id': session } });
    expect(called.json()).toEqual(result(1, text('{"a":1}')));
  });

  it(
    'sends initialized to the backend once, before anything else',
    verifies('lifecycle:initialized-notification'),
    async () => {
      const { url, backend } = await behindLegacy({ ...echo, 'notifications/initialized': (turn) => held.take(turn) });
      const held = new Held();
      const client = await connectLegacy(url);
      await client.post(notification('notifications/initialized'));
      const called = client.post(call(1));
      const ready = await held.nth(1);
      backend.forget();
      // What would overtake it has had every chance: a round trip of the same session.
      expect((await client.post(request(2, 'ping'))).json()).toEqual(result(2, {}));
      expect(backend.received).toEqual([]);
      ready.raw(202, {});
      expect((await called).json()).toEqual(result(1, text('{}')));
      expect(held.turns).toHaveLength(1);
    },
  );

  it(
    'is kept for a client that forgets initialized, and for one that does not have it',
    verifies('lifecycle:initialized-notification'),
    async () => {
      const { url, backend } = await behindLegacy({ ...echo, 'prompts/get': (turn) => turn.result({ messages: [] }) });
      const session = String((await send(url, { body: initialize() })).headers['mcp-session-id']);
      backend.forget();
      await send(url, { body: call(1), headers: { 'mcp-session-id': session } });
      await send(url, modern({ method: 'prompts/get', params: { name: 'p' } }));
      const posted = backend.received.filter(({ http }) => http === 'POST').map(({ message }) => message.method);
      expect(posted).toEqual([
        'notifications/initialized',
        'tools/call',
        'initialize',
        'notifications/initialized',
        'prompts/get',
      ]);
    },
  );

  it(
    'delays every call until the backend has answered',
    verifies('lifecycle:pre-initialization-ordering'),
    async () => {
      const gate = new Gate();
      const { url, backend, gateway } = await behindLegacy({
        initialize: (turn) => {
          const answer = () => turn.result(agreed(turn.message));
          if (turn.message.params.clientInfo.name === 'bascule') answer();
          else void gate.opened.then(answer);
        },
        'prompts/get': (turn) => turn.result({ messages: [] }),
      });
      await gateway.assembled.backends.get('b')?.discover();
      backend.forget();
      const calls = [1, 2].map((id) => send(url, modern({ id, method: 'prompts/get', params: { name: 'p' } })));
      const opening = send(url, { body: initialize() });
      await backend.arrival('initialize', 2);
      expect(new Set(backend.received.map(({ message }) => message.method))).toEqual(new Set(['initialize']));
      gate.open();
      for (const answer of await Promise.all(calls)) expect(answer.json().result.messages).toEqual([]);
      expect((await opening).status).toBe(200);
    },
  );

  it('has no place for a request before it', verifies('lifecycle:requests-before-initialized'), async () => {
    const { url, backend } = await behindLegacy(echo);
    for (const message of [call(1), request(2, 'tools/list')]) {
      const answer = await send(url, { body: message });
      expectRefused(answer, 400, {
        code: -32600,
        message: 'Mcp-Session-Id header is required',
        reason: 'session_required',
        id: (message as Json).id,
      });
    }
    expect(backend.bytes).toBe(0);
  });
});
