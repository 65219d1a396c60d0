/** An official server with the tasks of 2025-11-25. Its work ends when the test says so. */
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { type CallToolResult, CreateMessageResultSchema, ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import type { Json } from '../harness/client.ts';
import { McpServerV1, type SdkServerV1, startV1 } from '../harness/sdk-servers.ts';

export interface TaskServer extends SdkServerV1<McpServerV1> {
  /** The ids of the tasks that were made. */
  readonly tasks: readonly string[];
  /** Ends the work of the oldest task that still runs. */
  finish(result?: CallToolResult): Promise<void>;
}

interface Running {
  readonly id: string;
  readonly extra: Json;
}

const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] });

/** All sessions of the server know all of its tasks, as where a backend binds them to credentials. */
export async function startTaskServer(): Promise<TaskServer> {
  const taskStore = new InMemoryTaskStore();
  const shared = withoutSessions(taskStore);
  const running: Running[] = [];
  const tasks: string[] = [];
  const server = await startV1(() => create(shared, running, tasks));
  return Object.assign(server, {
    tasks,
    finish: async (result = text('done')) => {
      const { id } = running.shift() as Running;
      await shared.storeTaskResult(id, result.isError === true ? 'failed' : 'completed', result);
    },
  });
}

function withoutSessions(store: InMemoryTaskStore): InMemoryTaskStore {
  const { createTask, getTask, storeTaskResult, getTaskResult, updateTaskStatus } = InMemoryTaskStore.prototype;
  return Object.assign(store, {
    createTask: (...[options, id, request]: Parameters<typeof createTask>) =>
      createTask.call(store, options, id, request),
    getTask: (id: string) => getTask.call(store, id),
    storeTaskResult: (...[id, status, result]: Parameters<typeof storeTaskResult>) =>
      storeTaskResult.call(store, id, status, result),
    getTaskResult: (id: string) => getTaskResult.call(store, id),
    updateTaskStatus: (...[id, status, message]: Parameters<typeof updateTaskStatus>) =>
      updateTaskStatus.call(store, id, status, message),
  });
}

function create(taskStore: InMemoryTaskStore, running: Running[], tasks: string[]): McpServerV1 {
  const server = new McpServerV1(
    { name: 'tasks', version: '1' },
    {
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  const tool = (name: string, taskSupport: 'optional' | 'required', work: (one: Running) => Promise<void>) =>
    server.experimental.tasks.registerToolTask(
      name,
      { description: name, inputSchema: z.object({}), execution: { taskSupport } },
      {
        createTask: async (_args, extra) => {
          const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl ?? null, pollInterval: 20 });
          tasks.push(task.taskId);
          // What a task asked fails where it was cancelled meanwhile.
          void work({ id: task.taskId, extra }).catch(() => undefined);
          return { task };
        },
        getTask: async (_args, extra) => extra.taskStore.getTask(extra.taskId),
        getTaskResult: async (_args, extra) => (await extra.taskStore.getTaskResult(extra.taskId)) as CallToolResult,
      },
    );
  const asks = (method: string, params: object, schema: z.ZodType) => async (one: Running) => {
    const { id, extra } = one;
    await taskStore.updateTaskStatus(id, 'input_required');
    const said: Json = await extra.sendRequest({ method, params }, schema, { relatedTask: { taskId: id } });
    await taskStore.updateTaskStatus(id, 'working');
    await taskStore.storeTaskResult(id, 'completed', text(JSON.stringify(said.content)));
  };
  tool('slow', 'optional', async (one) => void running.push(one));
  tool('only', 'required', async (one) => void running.push(one));
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
  tool(
    'ask',
    'required',
    asks('elicitation/create', { message: 'Who?', requestedSchema }, ElicitResultSchema as never),
  );
  const messages = [{ role: 'user', content: { type: 'text', text: 'Say' } }];
  tool(
    'sample',
    'required',
    asks('sampling/createMessage', { messages, maxTokens: 9 }, CreateMessageResultSchema as never),
  );
  server.registerTool('plain', { description: 'plain', inputSchema: z.object({}) }, async () => text('plain'));
  return server;
}
