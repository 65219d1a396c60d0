/**
 * Tasks of 2025-11-25 are not carried from end to end: nobody is told of them, and whoever asks hears why not. The
 * extension is another design, and is carried in the modern era alone.
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
  it('are not offered to clients', verifies('gateway:tasks:stripped'), async () => {
    const { url } = await behind(echo, { backend: { capabilities: withTasks } });
    const older = await send(url, { body: initialize() });
    expect(older.json().result.capabilities).toEqual(without);
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
    'are not requested: a call is an ordinary one without its `task`',
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
      for (const members of received) expect(members.filter((key) => key !== '_meta')).toEqual(['arguments', 'name']);
    },
  );

  for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']) {
    it(`are rejected for a legacy client by name: ${method}`, verifies('gateway:tasks:refused'), async () => {
      const { url, backend } = await behind(echo, { backend: { capabilities: withTasks } });
      const client = await connectLegacy(url);
      const answer = await client.post({ jsonrpc: '2.0', id: 1, method, params: { taskId: 't' } });
      expectRefused(answer, 200, {
        code: -32601,
        message: 'Tasks are not supported',
        reason: 'tasks_not_supported',
        id: 1,
      });
      expect(backend.of(method)).toEqual([]);
    });
  }
});
