/** `share: true`: what a task asks on stdout, where no stream says who waits for it. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { streaming } from '../harness/behind.ts';
import { type Json, type OpenAnswer, until } from '../harness/client.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyProcess, type StdioTurn } from '../harness/stdio-backend.ts';
import { begin, listed, related, taskOf, tasks } from './raw-backend.ts';

const asked = ({ method }: Json) => method === 'elicitation/create';
const heard = (answer: OpenAnswer) => answer.events.filter(({ data }) => data).map((event) => event.json());

it('a task asks the client that waits for it, and none whose call happens to run', {
  ...verifies('gateway:tasks:ids'),
}, async () => {
  const backend = await legacyProcess(
    {
      'tools/list': (turn: StdioTurn) => turn.result({ tools: listed }),
      'tools/call': (turn: StdioTurn) => {
        if (turn.message.params.task !== undefined) turn.result({ task: taskOf('task-1') });
      },
      'tasks/result': () => undefined,
    },
    { capabilities: { tools: {}, tasks } },
  );
  const { command, args } = backend;
  const gateway = await startGateway({ backends: { b: { command, args, share: true } }, limits: streaming });
  const connect = () => connectLegacy(gateway.url('b'), { capabilities: { elicitation: {} } });
  const [owner, other] = [await connect(), await connect()] as [LegacyClient, LegacyClient];
  const taskId = await begin(owner, 'maybe');
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'never', arguments: {} } };
  const running = await other.stream(call);
  const { process } = await backend.arrival('tools/call', 2);
  const ask = (id: string) => {
    const params = {
      ...{ message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
      _meta: { [related]: { taskId: 'task-1' } },
    };
    process.say({ jsonrpc: '2.0', id, method: 'elicitation/create', params });
  };
  const answerOf = (id: string) => process.received.find((message) => message.id === id && !message.method);
  ask('early');
  await until(() => answerOf('early') !== undefined || heard(running).some(asked), 'the question was dealt with');
  expect(heard(running)).toEqual([]);
  expect(answerOf('early').error).toBeDefined();
  const waiting = await owner.stream({ jsonrpc: '2.0', id: 2, method: 'tasks/result', params: { taskId } });
  await backend.arrival('tasks/result');
  ask('late');
  const { id, params } = await waiting.message(asked);
  expect(params._meta).toEqual({ [related]: { taskId } });
  await owner.post({ jsonrpc: '2.0', id, result: { action: 'decline' } });
  await until(() => answerOf('late') !== undefined, 'the backend got the answer');
  expect(answerOf('late').result.action).toBe('decline');
  expect(heard(running)).toEqual([]);
});
