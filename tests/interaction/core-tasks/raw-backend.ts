/** A scripted backend with the tasks of 2025-11-25, whose ids and times a test can know. */
import type { Json } from '../harness/client.ts';
import type { LegacyClient } from '../harness/eras.ts';
import { legacyBackend, type Script, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';

export const related = 'io.modelcontextprotocol/related-task';
export const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

const at = '2026-11-18T00:00:00Z';
const named = (name: string, taskSupport?: string) => ({
  name,
  inputSchema: { type: 'object' },
  ...(taskSupport && { execution: { taskSupport } }),
});
export const listed = [named('maybe', 'optional'), named('must', 'required'), named('never')];

export function taskOf(taskId: string, status = 'working'): Json {
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttl: 1e3, pollInterval: 5 };
}

/** Numbers its tasks, and answers about each of them. `script` replaces answers. */
export function taskBackend(
  script: Script = {},
  capabilities: object = { tools: {}, tasks },
): Promise<ScriptedBackend> {
  let made = 0;
  const call = (turn: Turn) => {
    const { task, name } = turn.message.params;
    if (task === undefined && name === 'must') turn.error(-32601, 'must be a task');
    else if (task === undefined) turn.result({ content: [{ type: 'text', text: 'plain' }] });
    else if (name === 'never') turn.error(-32601, 'no task');
    else turn.result({ task: taskOf(`task-${++made}`) });
  };
  const answers: Script = {
    'tools/list': (turn) => turn.result({ tools: listed }),
    'tools/call': call,
    'tasks/get': (turn) => turn.result(taskOf(turn.message.params.taskId)),
    'tasks/cancel': (turn) => turn.result(taskOf(turn.message.params.taskId, 'cancelled')),
    'tasks/result': (turn) => {
      const { taskId } = turn.message.params;
      turn.result({ content: [{ type: 'text', text: taskId }], _meta: { [related]: { taskId }, own: 1 } });
    },
  };
  return legacyBackend({ ...answers, ...script }, { capabilities });
}

let requests = 0;

/** The whole answer of a request. */
export async function ask(client: LegacyClient, method: string, params: object): Promise<Json> {
  const answer = await client.post({ jsonrpc: '2.0', id: ++requests, method, params });
  const messages = answer.events.filter(({ data }) => data).map((event) => event.json());
  return messages.length > 0 ? messages.at(-1) : answer.json();
}

export async function begin(client: LegacyClient, name: string, more: object = {}): Promise<string> {
  const { result } = await ask(client, 'tools/call', { name, arguments: {}, task: { ttl: 5 }, ...more });
  return result.task.taskId;
}

/** In portions that a session may have in flight. */
export async function each<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let at = 0; at < items.length; at += 25) done.push(...(await Promise.all(items.slice(at, at + 25).map(act))));
  return done;
}
