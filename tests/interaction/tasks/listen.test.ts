/** `subscriptions/listen` for tasks, which the gateway does not pass on: clients poll. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, open, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { openWorkshop, tasksId } from './workshop.ts';

const capabilities = { extensions: { [tasksId]: {} } };

it.each([
  { where: 'one backend', path: 'one' },
  { where: 'two backends', path: undefined },
])(
  'ids of tasks reach no backend at an endpoint of $where, and none is honoured',
  {
    ...verifies('gateway:tasks:ids'),
  },
  async ({ path }) => {
    const one = await openWorkshop('one');
    const two = await openWorkshop('two');
    const gateway = await startGateway({ backends: { one: { url: one.backend.url }, two: { url: two.backend.url } } });
    const url = gateway.url(path);
    const name = path === undefined ? 'one__slow_compute' : 'slow_compute';
    const made = { method: 'tools/call', params: { name, arguments: { seconds: 60 } }, capabilities };
    const { taskId } = (await send(url, modern(made))).json().result;
    const own = one.last('slow_compute').id;
    const params = { notifications: { toolsListChanged: true, taskIds: [own, taskId] } };
    const stream = await open(url, modern({ id: 'x', method: 'subscriptions/listen', params, capabilities }));
    const { params: said } = await stream.message(({ method }: Json) => method?.endsWith('acknowledged'));
    expect(said.notifications).not.toHaveProperty('taskIds');
    for (const { message } of one.backend.of('subscriptions/listen'))
      expect(message.params.notifications).not.toHaveProperty('taskIds');
  },
);

it('a client that does not declare the extension gets -32021', verifies('gateway:tasks:declared'), async () => {
  const one = await openWorkshop('one');
  const gateway = await startGateway({ backends: { one: { url: one.backend.url } } });
  const params = { notifications: { taskIds: ['x'] } };
  const { error } = (await send(gateway.url(), modern({ method: 'subscriptions/listen', params }))).json();
  expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: capabilities } });
});
