/** Tools of 2025-11-25 that run only as tasks, called by clients that ask for none. */
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { diverges, verifies } from '../../requirements/verifies.ts';
import { Held, streaming } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { type ClientV1, connectV1, connectV2 } from '../harness/sdk.ts';
import { ask, related, taskBackend, taskOf } from './raw-backend.ts';
import { startTaskServer } from './sdk-server.ts';

const answer = async () => ({ action: 'accept' as const, content: { name: 'Ada' } });
const places = [
  { place: 'at an endpoint of one backend', path: 'b' as const, prefix: '' },
  { place: 'at a merged endpoint', path: undefined, prefix: 'b__' },
];

async function open(path: 'b' | undefined) {
  const server = await startTaskServer();
  const gateway = await startGateway({
    backends: { b: { url: server.url }, other: { url: (await startTaskServer()).url } },
  });
  return { server, url: gateway.url(path) };
}

const called = { method: 'tools/call' as const };
const plainly = (client: ClientV1, name: string) =>
  client.request({ ...called, params: { name, arguments: {} } }, CallToolResultSchema);

describe.each(places)('$place', ({ path, prefix }) => {
  it(
    'a legacy client gets the result, and is asked on the way',
    diverges('tasks:tool-level:required-no-task-32601'),
    async () => {
      const { server, url } = await open(path);
      const client = await connectV1(url, {
        capabilities: { elicitation: {} },
        prepare: (own) => own.setRequestHandler(ElicitRequestSchema, answer),
      });
      const waiting = plainly(client, `${prefix}only`);
      await until(() => server.tasks.length === 1, 'the task was made');
      await server.finish();
      expect(await waiting).toEqual({ content: [{ type: 'text', text: 'done' }] });
      const asked = await plainly(client, `${prefix}ask`);
      expect(asked).toEqual({ content: [{ type: 'text', text: '{"name":"Ada"}' }] });
    },
  );

  it('a modern client gets the result, and is asked on the way', verifies('gateway:tasks:waited-for'), async () => {
    const { server, url } = await open(path);
    const client = await connectV2(url, {
      capabilities: { elicitation: {} },
      prepare: (own) => own.setRequestHandler('elicitation/create', answer),
    });
    const call = (name: string) => client.callTool({ name, arguments: {} });
    const waiting = call(`${prefix}only`);
    await until(() => server.tasks.length === 1, 'the task was made');
    await server.finish();
    expect((await waiting).content).toEqual([{ type: 'text', text: 'done' }]);
    expect((await call(`${prefix}ask`)).content).toEqual([{ type: 'text', text: '{"name":"Ada"}' }]);
  });
});

it('progress of the task is progress of the call', verifies('gateway:tasks:waited-for'), async () => {
  const held = new Held();
  const backend = await taskBackend({ 'tasks/result': held.take });
  const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits: streaming });
  const client = await connectLegacy(gateway.url());
  const params = { name: 'must', arguments: {}, _meta: { progressToken: 7 } };
  const waiting = await client.stream({ jsonrpc: '2.0', id: 1, ...called, params });
  const turn = await held.nth(1);
  const made = backend.of('tools/call').at(-1)?.message.params;
  expect(made.task.ttl).toBeGreaterThan(0);
  const { progressToken } = made._meta;
  const meta = { [related]: { taskId: 'task-1' } };
  turn
    .stream()
    .event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1, _meta: meta } });
  turn.event({ jsonrpc: '2.0', id: turn.message.id, result: { content: [], _meta: meta } }).end();
  await waiting.ended;
  const messages = waiting.events.filter(({ data }) => data).map((event) => event.json());
  expect(messages.map(({ params: said, result }) => said ?? result)).toEqual([
    { progressToken: 7, progress: 1 },
    { content: [] },
  ]);
});

it('the task is cancelled with the call, and after the time limit', verifies('gateway:tasks:waited-for'), async () => {
  const backend = await taskBackend({ 'tasks/result': () => undefined });
  const gateway = await startGateway({
    backends: { b: { url: backend.url } },
    limits: { totalMs: 500, firstByteMs: 400, idleMs: 400 },
  });
  const client = await connectLegacy(gateway.url());
  const first = client.post({ jsonrpc: '2.0', id: 5, ...called, params: { name: 'must', arguments: {} } });
  await backend.arrival('tasks/result');
  await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
  expect((await backend.arrival('tasks/cancel')).message.params).toEqual({ taskId: 'task-1' });
  await first.catch(() => undefined);
  const { error } = await ask(client, 'tools/call', { name: 'must', arguments: {} });
  expect(error.data.reason).toBe('backend_timeout');
  expect((await backend.arrival('tasks/cancel', 2)).message.params).toEqual({ taskId: 'task-2' });
});

it(
  'a task that is made after its call was cancelled is cancelled, too',
  verifies('gateway:tasks:waited-for'),
  async () => {
    const held = new Held();
    const backend = await taskBackend({ 'tools/call': held.take });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url());
    const first = client.post({ jsonrpc: '2.0', id: 5, ...called, params: { name: 'must', arguments: {} } });
    const turn = await held.nth(1);
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
    turn.result({ task: taskOf('late') });
    expect((await backend.arrival('tasks/cancel')).message.params).toEqual({ taskId: 'late' });
    // The specification has no other way to cancel what becomes a task.
    expect(backend.of('notifications/cancelled')).toEqual([]);
    expect(backend.of('tasks/result')).toEqual([]);
    await first.catch(() => undefined);
  },
);

it.each([
  { name: 'never', listed: 'as one that cannot run as a task', code: -32601 },
  { name: 'never', listed: 'as one that cannot run as a task', code: -32600 },
  { name: 'x', listed: 'by no name', code: -32601 },
])(
  'a tool that is listed $listed and answers $code is called once: its error may come after it ran',
  verifies('gateway:tasks:waited-for'),
  async ({ name, code }) => {
    const backend = await taskBackend({ 'tools/call': (turn) => turn.error(code, 'refused') });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const params = { name, arguments: {} };
    const { error } = (await send(gateway.url(), modern({ ...called, params }))).json();
    expect(error).toMatchObject({ code, message: 'refused' });
    const client = await connectLegacy(gateway.url());
    expect((await ask(client, 'tools/call', params)).error).toMatchObject({ code, message: 'refused' });
    expect(backend.of('tools/call').map(({ message }) => message.params.task)).toEqual([undefined, undefined]);
  },
);

it(
  'a tool that may run as a task and refuses to run without is called as one',
  verifies('gateway:tasks:waited-for'),
  async () => {
    const refuse = (turn: Json) => turn.error(-32601, turn.message.params.task ? 'no such tool' : 'must be a task');
    const backend = await taskBackend({ 'tools/call': refuse });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const params = { name: 'maybe', arguments: {} };
    const { error } = (await send(gateway.url(), modern({ ...called, params }))).json();
    expect(error).toMatchObject({ code: -32601, message: 'no such tool' });
    expect(backend.of('tools/call')).toHaveLength(2);
  },
);
