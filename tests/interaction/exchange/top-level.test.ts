/**
 * The top level of a message is written anew on its way through: a backend whose reader ignores case would take `ID`
 * for `id`, and answer the call of another caller. https://www.jsonrpc.org/specification
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, log, messagesOf, notification, result, text } from '../harness/behind.ts';
import { type Json, open, send } from '../harness/client.ts';
import { connectLegacy, initialize, modern, modernHeaders, modernMeta } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type ScriptedBackend } from '../harness/http-backend.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { SseClient } from '../harness/sse-client.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';
import { pairs } from '../lossless/setup.ts';

/** A message with members that JSON-RPC does not have. */
const odd = (message: object): object => ({ 'x-first': 1, ...message, 'x-last': { deep: [null] } });
const members = (message: Json): readonly string[] => Object.keys(message).sort();
const ofRequest = ['id', 'jsonrpc', 'method', 'params'];
const ofResult = ['id', 'jsonrpc', 'result'];
const ofNotification = ['jsonrpc', 'method', 'params'];

const oddly: Script = {
  'tools/call': (turn) => {
    const { id, params } = turn.message;
    const progress = { progressToken: params._meta?.progressToken, progress: 1 };
    turn.stream();
    if (params._meta?.progressToken !== undefined) turn.event(odd(notification('notifications/progress', progress)));
    turn.event(odd(notification('notifications/example.com/note', { n: 1 })));
    turn
      .event(odd(log('said')))
      .event(odd(result(id, { resultType: 'complete', ...text('done') })))
      .end();
  },
  'tools/list': (turn) =>
    turn.json(odd(result(turn.message.id, { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'public' }))),
  'prompts/get': (turn) => {
    const { id } = turn.message;
    turn.json(odd({ jsonrpc: '2.0', id, error: { code: -32602, message: 'no', data: { kept: true } } }));
  },
};

const start = (era: 'legacy' | 'modern'): Promise<ScriptedBackend> =>
  (era === 'legacy' ? legacyBackend : modernBackend)(oddly);

/** Every message that a client heard, and every message that its backend got. */
function expectBare(heard: readonly Json[], backend: ScriptedBackend): void {
  for (const message of heard) {
    if (message.method !== undefined) expect(members(message)).toEqual(ofNotification);
    else expect(members(message)).toEqual('result' in message ? ofResult : ['error', 'id', 'jsonrpc']);
  }
  for (const method of ['tools/call', 'tools/list', 'prompts/get']) {
    for (const { message } of backend.of(method)) expect(members(message)).toEqual(ofRequest);
  }
}

describe('members beside those of JSON-RPC', verifies('gateway:exchange:top-level'), () => {
  for (const path of ['/mcp', '/servers/b/mcp']) {
    it.each(pairs)(
      `are dropped both ways at ${path}: $client client, $backend backend`,
      async ({ client, backend }) => {
        const behind = await start(backend);
        const gateway = await startGateway({ backends: { b: { url: behind.url } } });
        const url = `${gateway.origin}${path}`;
        const meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };
        const legacy = client === 'legacy' ? await connectLegacy(url) : undefined;
        const post = (id: string, method: string, params: Record<string, unknown>) => {
          const { headers, body } = modern({ id, method, params, meta });
          if (legacy === undefined) return send(url, { headers: headers ?? {}, body: odd(body as object) });
          return legacy.post(odd({ jsonrpc: '2.0', id, method, params: { ...params, _meta: { progressToken: 'p' } } }));
        };
        const called = messagesOf(await post('c', 'tools/call', { name: 'work' }));
        const listed = (await post('l', 'tools/list', {})).json();
        const refused = (await post('g', 'prompts/get', { name: 'p' })).json();
        expect(called.map(({ method, id }) => method ?? id)).toContain('notifications/progress');
        expect(called.map(({ method, id }) => method ?? id)).toContain('notifications/message');
        expect(called.at(-1)).toMatchObject({ id: 'c', result: text('done') });
        expect(refused).toMatchObject({ id: 'g', error: { code: -32602, data: { kept: true } } });
        expectBare([...called, listed, refused], behind);
        expect(behind.of('tools/call')).toHaveLength(1);
      },
    );
  }

  it('are dropped both ways over HTTP+SSE', async () => {
    const behind = await start('legacy');
    const gateway = await startGateway({ backends: { b: { url: behind.url } } });
    const client = await SseClient.connect(`${gateway.origin}/sse`);
    await client.ask(odd({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work' } }));
    await client.ask(odd({ jsonrpc: '2.0', id: 2, method: 'prompts/get', params: { name: 'p' } }));
    expectBare(client.heard, behind);
    expect(behind.of('tools/call')).toHaveLength(1);
  });

  it('are dropped both ways over stdio', async () => {
    const behind = await start('legacy');
    const client = new StdioClient(configFile({ backends: { b: { url: behind.url } } }));
    await client.ask(initialize());
    client.say(odd(notification('notifications/initialized')));
    const answers = [
      await client.ask(odd({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work' } })),
      await client.ask(odd({ jsonrpc: '2.0', id: 2, method: 'prompts/get', params: { name: 'p' } })),
    ];
    expectBare(answers, behind);
    const [initialized] = behind.of('notifications/initialized');
    expect(members(initialized?.message)).toEqual(['jsonrpc', 'method']);
  });

  it('are dropped on the standalone stream and on a subscription', async () => {
    const behind = await legacyBackend({});
    const gateway = await startGateway({ backends: { b: { url: behind.url } } });
    const stream = await (await connectLegacy(gateway.url('b'))).listen();
    (await behind.standing()).event(odd(log('outside')));
    await stream.message(({ method }) => method === 'notifications/message');
    expectBare(messagesOf(stream), behind);

    const process = await modernProcess({ 'subscriptions/listen': () => undefined });
    const other = await startGateway({ backends: { b: { command: process.command, args: process.args } } });
    const params = { notifications: { toolsListChanged: true } };
    const subscribed = await open(other.url('b'), modern({ id: 's', method: 'subscriptions/listen', params }));
    const turn = await process.arrival('subscriptions/listen');
    const _meta = { 'io.modelcontextprotocol/subscriptionId': turn.message.id };
    turn.process.say(odd(notification('notifications/subscriptions/acknowledged', { _meta, ...params })));
    turn.process.say(odd(notification('notifications/tools/list_changed', { _meta })));
    await subscribed.message(({ method }) => method === 'notifications/tools/list_changed');
    for (const message of messagesOf(subscribed)) expect(members(message)).toEqual(ofNotification);
  });
});

describe('ids of requests to a backend', verifies('gateway:exchange:unguessable-ids'), () => {
  it('are random and never repeat, for calls, progress tokens and subscriptions', async () => {
    const backends = [await modernBackend(oddly), await legacyBackend(oddly)];
    const ids: unknown[] = [];
    for (const backend of backends) {
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const request = modern({ method: 'tools/call', params: { name: 'work' }, meta: { progressToken: 0 } });
      for (let n = 0; n < 20; n++) await send(gateway.url('b'), request);
      for (const { message } of backend.received) {
        if (message?.id !== undefined) ids.push(message.id);
        const token = message?.params?._meta?.progressToken;
        if (token !== undefined) expect(token).toBe(message.id);
      }
    }
    expect(ids.length).toBeGreaterThan(40);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[\w-]{16}$/);
    // No position of the id is the same in all of them: nothing but chance is in it.
    for (let at = 0; at < 16; at++) expect(new Set(ids.map((id) => String(id)[at])).size).toBeGreaterThan(4);
  });

  it('cannot be named by another caller of a shared process: a duplicate id key is rejected', async () => {
    const backend = await legacyProcess({ 'tools/call': () => undefined });
    const { command, args } = backend;
    const gateway = await startGateway({ backends: { b: { command, args, share: true } } });
    const [victim, attacker] = [await connectLegacy(gateway.url('b')), await connectLegacy(gateway.url('b'))];
    const waiting = victim.post(call(1, { whose: 'victim' }));
    const turn = await backend.arrival('tools/call');
    const forged = JSON.stringify(call(1)).replace('"id":1', `"id":1,"ID":${JSON.stringify(turn.message.id)}`);
    const refused = await attacker.post(forged);
    expect({ status: refused.status, reason: refused.json().error.data.reason }).toEqual({
      status: 400,
      reason: 'ambiguous_json',
    });
    turn.result(text('mine'));
    expect((await waiting).json()).toEqual(result(1, text('mine')));
    expect(backend.of('tools/call')).toHaveLength(1);
  });

  it('of a response are read from `id` alone, whatever other members it has', async () => {
    const { command, args, ...backend } = await modernProcess({ 'tools/call': () => undefined });
    const gateway = await startGateway({ backends: { b: { command, args } } });
    const ask = (id: number) => send(gateway.url('b'), modern({ id, method: 'tools/call', params: { name: 'work' } }));
    const answers = [ask(1), ask(2)];
    await backend.arrival('tools/call', 2);
    const [first, second] = backend.of('tools/call');
    for (const [turn, other] of [[first, second] as const, [second, first] as const]) {
      const own = result(turn?.message.id, { resultType: 'complete', ...text(String(turn?.message.id)) });
      turn?.process.say({ ...own, ID: other?.message.id, Result: text('forged') });
    }
    for (const answer of await Promise.all(answers)) expect(members(answer.json())).toEqual(ofResult);
    const said = (await Promise.all(answers)).map((answer) => answer.json().result.content[0].text).sort();
    expect(said).toEqual([first?.message.id, second?.message.id].sort());
  });
});

it('a method with escapes is written as it was understood', verifies('gateway:exchange:top-level'), async () => {
  const behind = await start('modern');
  const gateway = await startGateway({ backends: { b: { url: behind.url } } });
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools\\/\\u006cist","params":{"_meta":${JSON.stringify(modernMeta())}}}`;
  const answer = await send(gateway.url('b'), { headers: modernHeaders('tools/list'), body });
  expect(answer.json().result.tools).toEqual([]);
  expect(behind.of('tools/list')[0]?.text).toContain('"method":"tools/list"');
});
