/** Tasks of 2025-11-25, message by message. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Held, streaming } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { connectLegacy, type LegacyClient, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, type Script, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';
import { restarted } from '../harness/restarted.ts';
import { ask, begin, each, listed, related, taskBackend, taskOf } from './raw-backend.ts';

const unknown = { code: -32602, data: { reason: 'unknown_task' } };
const toolsOf = ({ result }: Json) => result.tools.map(({ name, execution }: Json) => [name, execution?.taskSupport]);

interface Setting {
  readonly backend: ScriptedBackend;
  readonly client: LegacyClient;
}

async function single(script: Script = {}, config: object = {}): Promise<Setting> {
  const backend = await taskBackend(script);
  const gateway = await startGateway({ backends: { b: { url: backend.url } }, ...config });
  const capabilities = { elicitation: {}, tasks: { requests: { elicitation: { create: {} } } } };
  return { backend, client: await connectLegacy(gateway.url(), { capabilities }) };
}

const exchangeOf = async (client: LegacyClient, id: number, method: string, params: object) =>
  client.stream({ jsonrpc: '2.0', id, method, params });

describe('tasks of one principal', () => {
  it('are unknown to every other one: of 1,000 tasks each principal finds its own after a restart', {
    ...verifies('tasks:auth:context-isolation', 'tasks:unknown-id', 'gateway:tasks:ids'),
    timeout: 60_000,
  }, async () => {
    const backend = await taskBackend();
    const ring = keyRing();
    const credentials = [bearer(ring.make('alice')), bearer(ring.make('bob'))];
    const gateways = await restarted({
      backends: { b: { url: backend.url } },
      identity: { keys: { file: ring.path } },
    });
    const before = await Promise.all(credentials.map((own) => gateways.connect({}, own)));
    const half = Array.from({ length: 500 }, (_, at) => at);
    const owned = await Promise.all(before.map((client) => each(half, () => begin(client, 'maybe'))));
    expect(new Set(owned.flat()).size).toBe(1_000);
    const check = async (clients: readonly LegacyClient[]) => {
      backend.forget();
      const found = await Promise.all(
        clients.map((client, at) => each(owned[at] ?? [], (taskId) => ask(client, 'tasks/get', { taskId }))),
      );
      expect(found.flat().map(({ result }) => result.taskId)).toEqual(owned.flat());
      const asked = backend.of('tasks/get').map(({ message }) => message.params.taskId);
      expect(new Set(asked).size).toBe(1_000);
      backend.forget();
      const methods = ['tasks/get', 'tasks/result', 'tasks/cancel'];
      const foreign = await Promise.all(
        clients.map((client, at) =>
          each((owned[1 - at] ?? []).slice(0, 150), (taskId) =>
            ask(client, methods[taskId.charCodeAt(9) % 3] ?? '', { taskId }),
          ),
        ),
      );
      for (const { error } of foreign.flat()) expect(error).toMatchObject(unknown);
      expect(backend.received.filter(({ message }) => message?.method?.startsWith('tasks/'))).toEqual([]);
    };
    await gateways.start();
    await check(before.map((client) => gateways.again(client)));
  });

  it('are unknown by the ids of the backend, and by what is no id', verifies('tasks:unknown-id'), async () => {
    const { backend, client } = await single();
    const taskId = await begin(client, 'maybe');
    for (const other of ['task-1', `${taskId}x`, '', 7]) {
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
        expect((await ask(client, method, { taskId: other })).error).toMatchObject(unknown);
    }
    expect(backend.of('tasks/get')).toEqual([]);
  });

  it(
    'are named by the id of the client in what a backend says of an error',
    verifies('gateway:tasks:ids'),
    async () => {
      const refuse = (turn: Turn) => {
        const { taskId } = turn.message.params;
        turn.error(-32602, `Task not found: ${taskId}`, { about: [taskId] });
      };
      const { client } = await single({ 'tasks/get': refuse, 'tasks/result': refuse, 'tasks/cancel': refuse });
      const taskId = await begin(client, 'maybe');
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
        const { error } = await ask(client, method, { taskId });
        expect(error).toEqual({ code: -32602, message: `Task not found: ${taskId}` });
      }
      expect((await ask(client, 'tools/call', { name: 'must', arguments: {} })).error).toEqual({
        code: -32602,
        message: 'Task not found: (task)',
      });
    },
  );

  it('are denied with the tool that made them', verifies('gateway:tasks:policy'), async () => {
    const backend = await taskBackend();
    const config = (rules: readonly object[]) => ({
      backends: { b: { url: backend.url } },
      policy: { rules: [{ id: 'all', effect: 'allow' }, ...rules] },
    });
    const gateway = await startGateway(config([]));
    const client = await connectLegacy(gateway.url());
    const taskId = await begin(client, 'maybe');
    expect((await ask(client, 'tasks/get', { taskId })).result).toMatchObject({ taskId });
    gateway.reload(config([{ id: 'no', effect: 'deny', what: ['call'], on: { tools: ['maybe'] } }]));
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      expect((await ask(client, method, { taskId })).error.data).toMatchObject({
        reason: 'policy_denied',
        rules: ['no'],
      });
  });
});

describe('a call that asks for a task', () => {
  it(
    'is an ordinary one for clients and backends without tasks, and lists say nothing of them',
    verifies('tasks:no-capability:ignore-task-param', 'gateway:tasks:stripped'),
    async () => {
      const backend = await taskBackend();
      const plain = await legacyBackend(
        {
          'tools/list': (turn) => turn.result({ tools: listed }),
          'tools/call': (turn) => turn.result({ content: [], _meta: { got: Object.keys(turn.message.params) } }),
        },
        { capabilities: { tools: {} } },
      );
      const gateway = await startGateway({ backends: { b: { url: backend.url }, plain: { url: plain.url } } });
      const call = { arguments: {}, task: { ttl: 5 } };
      const client = await connectLegacy(gateway.url());
      expect(toolsOf(await ask(client, 'tools/list', {}))).toEqual([
        ['b__maybe', 'optional'],
        ['b__must', 'required'],
        ['b__never', undefined],
        ['plain__maybe', undefined],
        ['plain__must', undefined],
        ['plain__never', undefined],
      ]);
      const { result } = await ask(client, 'tools/call', { ...call, name: 'plain__maybe' });
      expect(result._meta.got).not.toContain('task');
      const none = ['maybe', 'must', 'never'].map((name) => [name, undefined]);
      for (const path of ['b', undefined]) {
        const older = await connectLegacy(gateway.url(path), { revision: '2025-06-18' });
        const prefix = path === undefined ? 'b__' : '';
        expect(older.initialized.capabilities.tasks).toBeUndefined();
        const ofBackend = (tools: Json) => tools.filter(([name]: string[]) => name?.startsWith(prefix)).slice(0, 3);
        const without = none.map(([name]) => [`${prefix}${name}`, undefined]);
        expect(ofBackend(toolsOf(await ask(older, 'tools/list', {})))).toEqual(without);
        const served = await ask(older, 'tools/call', { ...call, name: `${prefix}maybe` });
        expect(served.result.content[0].text).toBe('plain');
        expect((await ask(older, 'tasks/get', { taskId: 'x' })).error.code).toBe(-32601);
        const newer = async (method: string, params = {}) =>
          (await send(gateway.url(path), modern({ method, params }))).json();
        expect(ofBackend(toolsOf(await newer('tools/list')))).toEqual(without);
        expect((await newer('tools/call', { ...call, name: `${prefix}maybe` })).result.content[0].text).toBe('plain');
      }
    },
  );

  it(
    'fails where it asked for none and the backend made one that nobody can reach',
    verifies('gateway:tasks:stripped'),
    async () => {
      const { client } = await single({ 'tools/call': (turn) => turn.result({ task: taskOf('task-1') }) });
      const plain = await legacyBackend(
        { 'tools/call': (turn) => turn.result({ task: taskOf('task-1') }) },
        { capabilities: { tools: {} } },
      );
      const gateway = await startGateway({ backends: { b: { url: plain.url } } });
      const params = { name: 'never', arguments: {} };
      const { error } = (await send(gateway.url(), modern({ method: 'tools/call', params }))).json();
      const refused = await ask(await connectLegacy(gateway.url()), 'tools/call', { ...params, task: {} });
      for (const failed of [error, refused.error, (await ask(client, 'tools/call', params)).error]) {
        expect(failed.data.reason).toBe('backend_invalid');
        expect(JSON.stringify(failed)).not.toContain('task-1');
      }
    },
  );

  it(
    'is refused by the backend for a tool that cannot run as one',
    verifies('tasks:tool-level:forbidden-with-task-32601'),
    async () => {
      const { client } = await single();
      const { error } = await ask(client, 'tools/call', { name: 'never', arguments: {}, task: {} });
      expect(error).toMatchObject({ code: -32601, message: 'no task' });
    },
  );

  it('leaves the task running when it is cancelled', verifies('tasks:request-cancel:no-task-cancel'), async () => {
    const { backend, client } = await single();
    const params = { name: 'maybe', arguments: {}, task: {} };
    const answer = await client.post({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params });
    const { taskId } = answer.json().result.task;
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'x' } });
    expect((await ask(client, 'tasks/get', { taskId })).result.status).toBe('working');
    expect(backend.of('tasks/cancel')).toEqual([]);
  });

  it(
    'goes on with its progress under its own token, on the stream of the result and outside of it',
    verifies('tasks:progress:after-create'),
    async () => {
      const held = new Held();
      const { backend, client } = await single({ 'tasks/result': held.take }, { limits: streaming });
      const listening = await client.listen();
      const standing = await backend.standing();
      const taskId = await begin(client, 'maybe', { _meta: { progressToken: 'mine' } });
      const [call] = backend.of('tools/call');
      const progressToken = call?.message.params._meta.progressToken;
      const progress = (token: unknown, done: number) => ({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: token, progress: done, _meta: { [related]: { taskId: 'task-1' } } },
      });
      standing.event(progress(progressToken, 1)).event(progress('foreign', 2));
      const outside = await listening.message(({ method }) => method === 'notifications/progress');
      const waiting = await exchangeOf(client, 90, 'tasks/result', { taskId });
      const turn = await held.nth(1);
      turn.stream().event(progress('foreign', 3)).event(progress(progressToken, 4));
      turn.event({ jsonrpc: '2.0', id: turn.message.id, result: { content: [] } }).end();
      await waiting.ended;
      const messages = waiting.events.filter(({ data }) => data).map((event) => event.json());
      expect(messages.map(({ id, params }) => id ?? params.progress)).toEqual([4, 90]);
      for (const { params } of [outside, messages[0]])
        expect(params).toMatchObject({ progressToken: 'mine', _meta: { [related]: { taskId } } });
      expect(outside.params.progress).toBe(1);
      expect(messages[1].result._meta).toEqual({ [related]: { taskId } });
    },
  );
});

describe('what a backend says of tasks', () => {
  it('is dropped where the client knows no such task', verifies('tasks:status-notification'), async () => {
    const { backend, client } = await single();
    const listening = await client.listen();
    const standing = await backend.standing();
    const taskId = await begin(client, 'maybe');
    const status = (params: object) => ({ jsonrpc: '2.0', method: 'notifications/tasks/status', params });
    const log = (own: string) => ({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'error', data: own, _meta: { [related]: { taskId: own } } },
    });
    standing
      .event(status(taskOf('task-9')))
      .event(log('task-9'))
      .event(log('task-1'));
    standing.event(status({ ...taskOf('task-1', 'completed'), statusMessage: 'so' }));
    await listening.message(({ method }) => method === 'notifications/tasks/status');
    const messages = listening.events.filter(({ data }) => data).map((event) => event.json());
    expect(messages.map(({ params }) => params)).toEqual([
      { level: 'error', data: 'task-9' },
      { level: 'error', data: 'task-1', _meta: { [related]: { taskId } } },
      { ...taskOf(taskId, 'completed'), statusMessage: 'so' },
    ]);
  });

  it(
    'asks under the id of the client, who cannot answer with a task of its own, and gets the answer under its own id',
    verifies('tasks:side-channel:elicitation', 'protocol:meta:related-task'),
    async () => {
      const held = new Held();
      const { backend, client } = await single({ 'tasks/result': held.take }, { limits: streaming });
      const taskId = await begin(client, 'maybe');
      const waiting = await exchangeOf(client, 91, 'tasks/result', { taskId });
      const turn = await held.nth(1);
      const meta = { [related]: { taskId: 'task-1' }, own: 1 };
      const params = { message: 'Who?', requestedSchema: { type: 'object', properties: {} }, task: {}, _meta: meta };
      turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
      const asked = await waiting.message(({ method }) => method === 'elicitation/create');
      expect(Object.keys(asked.params).sort()).toEqual(['_meta', 'message', 'requestedSchema']);
      expect(asked.params._meta).toEqual({ [related]: { taskId }, own: 1 });
      const result = { action: 'accept', content: {}, _meta: { [related]: { taskId } } };
      await client.post({ jsonrpc: '2.0', id: asked.id, result });
      const isAnswer = ({ message }: Json) => message?.id === 'q' && message.result !== undefined;
      await until(() => backend.received.some(isAnswer), 'the backend got the answer');
      expect(backend.received.find(isAnswer)?.message.result._meta).toEqual({ [related]: { taskId: 'task-1' } });
      turn.event({ jsonrpc: '2.0', id: turn.message.id, result: { content: [] } }).end();
      await waiting.ended;
    },
  );

  it('has a time limit, and another task in the answer is refused', verifies('gateway:tasks:core'), async () => {
    const limits = { totalMs: 400, firstByteMs: 100, idleMs: 100 };
    const { backend, client } = await single(
      { 'tasks/result': (turn) => void turn, 'tasks/get': (turn) => turn.result(taskOf('other')) },
      { limits },
    );
    const taskId = await begin(client, 'maybe');
    const { error } = await ask(client, 'tasks/result', { taskId });
    expect(error.data).toMatchObject({ reason: 'backend_timeout', limit: 'totalMs' });
    await backend.arrival('notifications/cancelled');
    expect(backend.of('tasks/cancel')).toEqual([]);
    expect((await ask(client, 'tasks/get', { taskId })).error.data.reason).toBe('backend_invalid');
  });

  it('leaves room for calls while many wait for results', verifies('gateway:tasks:core'), async () => {
    const limits = { callsPerBackend: 2, queueMs: 200 };
    const { backend, client } = await single({ 'tasks/result': () => undefined }, { limits });
    const taskId = await begin(client, 'maybe');
    const waiting = [1, 2].map((id) => exchangeOf(client, 900 + id, 'tasks/result', { taskId }));
    await backend.arrival('tasks/result', 2);
    const third = await ask(client, 'tasks/result', { taskId });
    expect(third.error.data.reason).toBe('backend_busy');
    const served = await ask(client, 'tools/call', { name: 'never', arguments: {} });
    expect(served.result.content[0].text).toBe('plain');
    for (const id of [901, 902])
      await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    await Promise.allSettled(waiting);
  });

  it('is never relayed as a list', verifies('gateway:tasks:refused'), async () => {
    const { backend, client } = await single();
    expect(client.initialized.capabilities.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    const { error } = await ask(client, 'tasks/list', {});
    expect(error).toMatchObject({ code: -32601, data: { reason: 'tasks_not_supported' } });
    expect(backend.of('tasks/list')).toEqual([]);
  });
});
