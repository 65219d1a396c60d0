/** Tasks of 2025-11-25 between official clients and servers, through the gateway. */
import type { Task } from '@modelcontextprotocol/sdk/experimental/tasks';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  TaskStatusNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { Json } from '../harness/client.ts';
import { startGateway } from '../harness/gateway.ts';
import { type ClientV1, connectV1 } from '../harness/sdk.ts';
import { startTaskServer, type TaskServer } from './sdk-server.ts';

const related = 'io.modelcontextprotocol/related-task';

interface Pair {
  readonly client: ClientV1;
  readonly server: TaskServer;
}

/** At the endpoint of the backend alone, and at one where names have its prefix. */
const places = [
  { place: 'an endpoint of one backend', path: 'b' as const, prefix: '' },
  { place: 'a merged endpoint', path: undefined, prefix: 'b__' },
];

async function pair(path: 'b' | undefined, prepare?: (client: ClientV1) => void): Promise<Pair> {
  const server = await startTaskServer();
  const other = await startTaskServer();
  const gateway = await startGateway({ backends: { b: { url: server.url }, other: { url: other.url } } });
  const capabilities = { elicitation: {}, sampling: {} };
  const client = await connectV1(gateway.url(path), { capabilities, ...(prepare && { prepare }) });
  return { client, server };
}

async function begin(client: ClientV1, name: string, options: object = {}): Promise<Task> {
  const request = { method: 'tools/call' as const, params: { name, arguments: {} } };
  const { task } = await client.request(request, CreateTaskResultSchema, { task: { ttl: 60_000 }, ...options });
  return task;
}

describe.each(places)('at $place', ({ path, prefix }) => {
  it(
    'a call becomes a task, which is followed to its result',
    verifies(
      'tasks:create:via-tool-call',
      'tasks:create:ttl-honored',
      'tasks:lifecycle:initial-working',
      'tasks:get',
      'tasks:result:terminal',
      'tasks:result:related-task-meta',
    ),
    async () => {
      const { client, server } = await pair(path);
      const { tools } = await client.listTools();
      const support = tools
        .filter(({ name }) => name.startsWith(prefix))
        .map(({ execution }) => execution?.taskSupport);
      expect(support.sort()).toEqual(expect.arrayContaining(['optional', 'required', 'required', 'required']));
      expect(client.getServerCapabilities()?.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
      const task = await begin(client, `${prefix}slow`);
      expect(task).toMatchObject({ status: 'working', ttl: 60_000, pollInterval: 20 });
      expect(server.tasks).not.toContain(task.taskId);
      expect(await client.experimental.tasks.getTask(task.taskId)).toMatchObject(task);
      const waiting = client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
      await server.finish();
      const result = await waiting;
      expect(result.content).toEqual([{ type: 'text', text: 'done' }]);
      expect(result._meta).toEqual({ [related]: { taskId: task.taskId } });
      const { status } = await client.experimental.tasks.getTask(task.taskId);
      expect(status).toBe('completed');
    },
  );

  it('a stream of a task brings its states and its result', verifies('tasks:side-channel:stream'), async () => {
    const { client, server } = await pair(path);
    // The client learns from the list which tools are tasks.
    await client.listTools();
    const seen: string[] = [];
    const params = { name: `${prefix}only`, arguments: {} };
    for await (const message of client.experimental.tasks.callToolStream(params, CallToolResultSchema, {})) {
      seen.push(message.type);
      if (message.type === 'taskCreated') await server.finish();
      if (message.type === 'result') expect(message.result.content).toEqual([{ type: 'text', text: 'done' }]);
    }
    expect([seen[0], seen.at(-1)]).toEqual(['taskCreated', 'result']);
  });

  it.each([
    {
      name: 'ask',
      schema: ElicitRequestSchema,
      answer: { action: 'accept', content: { name: 'Ada' } },
      told: { name: 'Ada' },
    },
    {
      name: 'sample',
      schema: CreateMessageRequestSchema,
      answer: { model: 'm', role: 'assistant', content: { type: 'text', text: 'so' } },
      told: { type: 'text', text: 'so' },
    },
  ])(
    'what a task asks ($name) reaches the client that waits for its result',
    verifies(
      'tasks:side-channel:elicitation',
      'tasks:side-channel:sampling',
      'tasks:side-channel:queue',
      'tasks:side-channel:drain-fifo',
      'tasks:lifecycle:input-required',
    ),
    async ({ name, schema, answer, told }) => {
      const asked: Json[] = [];
      const { client } = await pair(path, (own) =>
        own.setRequestHandler(schema as typeof ElicitRequestSchema, async ({ params }) => {
          asked.push(params);
          return answer as never;
        }),
      );
      const task = await begin(client, `${prefix}${name}`);
      const { status } = await client.experimental.tasks.getTask(task.taskId);
      expect(status).toBe('input_required');
      expect(asked).toEqual([]);
      const result = await client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
      expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(told) }]);
      expect(asked.map(({ _meta }) => _meta[related])).toEqual([{ taskId: task.taskId }]);
    },
  );

  it(
    'a task is cancelled, stays so, and cannot be cancelled twice',
    verifies(
      'tasks:cancel:working',
      'tasks:cancel:terminal-rejected',
      'tasks:cancel:remains-cancelled',
      'tasks:cancel:no-handler-abort',
      'tasks:side-channel:drop-on-cancel',
    ),
    async () => {
      const { client, server } = await pair(path);
      const { taskId } = await begin(client, `${prefix}slow`);
      expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ taskId, status: 'cancelled' });
      await expect(server.finish()).rejects.toThrow('terminal');
      expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: 'cancelled' });
      await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
      const asking = await begin(client, `${prefix}ask`);
      await client.experimental.tasks.cancelTask(asking.taskId);
      // Its question waited in the backend, and was dropped with it.
      await expect(client.experimental.tasks.getTaskResult(asking.taskId)).rejects.toMatchObject({ code: -32603 });
    },
  );

  it('the result of a failed task is the failure of its tool', verifies('tasks:result:failed'), async () => {
    const { client, server } = await pair(path);
    const { taskId } = await begin(client, `${prefix}slow`);
    await server.finish({ content: [{ type: 'text', text: 'broken' }], isError: true });
    expect((await client.experimental.tasks.getTask(taskId)).status).toBe('failed');
    const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
    expect(result).toMatchObject({ isError: true, content: [{ text: 'broken' }] });
  });

  it(
    'changes of its state are told under the id that the client has',
    verifies('tasks:status-notification'),
    async () => {
      const told: Json[] = [];
      const { client, server } = await pair(path, (own) =>
        own.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void told.push(params)),
      );
      const task = await begin(client, `${prefix}slow`);
      const waiting = client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
      await server.made.at(-1)?.server.notification({
        method: 'notifications/tasks/status',
        params: { ...task, taskId: server.tasks[0], statusMessage: 'half' } as never,
      });
      await server.finish();
      await waiting;
      await expect.poll(() => told).toContainEqual(expect.objectContaining({ ...task, statusMessage: 'half' }));
      expect(told.every(({ taskId }) => taskId === task.taskId)).toBe(true);
    },
  );
});
