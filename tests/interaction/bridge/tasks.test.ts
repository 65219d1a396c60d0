/**
 * Where tasks are not carried, nobody is told of them, and whoever asks hears why not: the tasks of 2025-11-25 are
 * carried within that revision, and the extension, which is another design, within the modern era.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, echo, expectRefused } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';

const core = 'io.modelcontextprotocol/';
const extension = `${core}tasks`;
const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
const withTasks = { tools: {}, tasks, extensions: { [extension]: {}, 'io.modelcontextprotocol/ui': {} } };
const without = { tools: {}, extensions: { 'io.modelcontextprotocol/ui': {} } };
const withExtension = { tools: {}, extensions: withTasks.extensions };
const sides = [
  { era: 'legacy', behind: behindLegacy },
  { era: 'modern', behind: behindModern },
];
const clientTasks = { elicitation: {}, tasks, extensions: { [extension]: {}, 'io.modelcontextprotocol/ui': {} } };
const clientWithExtension = { elicitation: {}, extensions: clientTasks.extensions };
const clientWithout = { elicitation: {}, extensions: { 'io.modelcontextprotocol/ui': {} } };

describe.each(sides)('tasks of a $era backend', ({ era, behind }) => {
  it('are not offered to clients of other revisions', verifies('gateway:tasks:stripped'), async () => {
    const { url } = await behind(echo, { backend: { capabilities: withTasks } });
    const older = await send(url, { body: initialize() });
    // Never a list of tasks: that of a backend may have tasks of others.
    const core = { cancel: {}, requests: tasks.requests };
    expect(older.json().result.capabilities).toEqual(era === 'legacy' ? { ...without, tasks: core } : without);
    const newer = await send(url, modern({ method: 'server/discover' }));
    expect(newer.json().result.capabilities).toEqual(era === 'modern' ? withExtension : without);
  });

  it('are not offered to it on behalf of clients', verifies('gateway:tasks:stripped'), async () => {
    const { url, backend, gateway } = await behind(echo, { backend: { capabilities: withTasks } });
    await gateway.assembled.backends.get('b')?.discover();
    backend.forget();
    const client = await connectLegacy(url, { capabilities: clientTasks });
    await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't' } });
    await send(url, modern({ method: 'tools/call', params: { name: 't' }, capabilities: clientTasks }));
    const offered =
      era === 'legacy'
        ? backend.of('initialize').map(({ message }) => message.params.capabilities)
        : backend.of('tools/call').map(({ message }) => message.params._meta[`${core}clientCapabilities`]);
    // What the gateway asks on its own account declares nothing at all.
    expect(offered.filter((declared) => Object.keys(declared).length > 0)).toEqual([
      clientWithout,
      era === 'modern' ? clientWithExtension : clientWithout,
    ]);
  });

  it(
    'are not requested across the eras: a call is an ordinary one without its `task`',
    verifies('gateway:tasks:stripped'),
    async () => {
      const { url, backend } = await behind(echo, { backend: { capabilities: withTasks } });
      const params = { name: 't', task: { ttl: 60_000 }, arguments: { task: 1 } };
      const client = await connectLegacy(url, { capabilities: clientTasks });
      const older = await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      const newer = await send(url, modern({ method: 'tools/call', params, capabilities: clientTasks }));
      for (const answer of [older, newer]) expect(answer.json().result.content[0].text).toBe('{"task":1}');
      const received = backend.of('tools/call').map(({ message }) => Object.keys(message.params).sort());
      expect(received).toHaveLength(2);
      const plain = ['arguments', 'name'];
      const withoutMeta = received.map((members) => members.filter((key) => key !== '_meta'));
      expect(withoutMeta).toEqual([era === 'legacy' ? [...plain, 'task'] : plain, plain]);
    },
  );

  for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']) {
    it(`are rejected for a legacy client by name: ${method}`, verifies('gateway:tasks:refused'), async () => {
      const { url, backend } = await behind(echo, { backend: { capabilities: withTasks } });
      const client = await connectLegacy(url);
      const answer = await client.post({ jsonrpc: '2.0', id: 1, method, params: { taskId: 't' } });
      const refusal =
        era === 'legacy' && method !== 'tasks/list'
          ? { code: -32602, message: 'Unknown task', reason: 'unknown_task' }
          : { code: -32601, message: 'Tasks are not supported', reason: 'tasks_not_supported' };
      expectRefused(answer, 200, { ...refusal, id: 1 });
      expect(backend.of(method)).toEqual([]);
    });
  }
});
