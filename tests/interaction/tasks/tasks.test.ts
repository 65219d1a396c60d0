/** Tasks of modern backends, for modern clients. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Headers, type Json, send } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { restarted } from '../harness/restarted.ts';
import { openWorkshop, related, tasksId, type Workshop } from './workshop.ts';

const capabilities = { elicitation: {}, sampling: {}, extensions: { [tasksId]: {} } };

/** A modern client that declares tasks, at one address. */
function guest(url: string, headers: Headers = {}, declared: object = capabilities) {
  return async (method: string, params: Json = {}): Promise<Json> =>
    (await send(url, modern({ id: 'x', method, params, headers, capabilities: declared }))).json();
}

const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` });

interface Place {
  readonly one: Workshop;
  readonly two: Workshop;
  url(isMerged: boolean): string;
}

async function open(config: ConfigValue = {}): Promise<Place> {
  const one = await openWorkshop('one');
  const two = await openWorkshop('two');
  const gateway = await startGateway({
    backends: { one: { url: one.backend.url }, two: { url: two.backend.url } },
    endpoints: [{ path: '/merged' }, { path: '/one', backends: ['one'] }, { path: '/other', backends: ['one'] }],
    ...config,
  });
  return { one, two, url: (isMerged) => `${gateway.origin}${isMerged ? '/merged' : '/one'}` };
}

describe.each([
  { where: 'one backend', isMerged: false },
  { where: 'two backends', isMerged: true },
])('at an endpoint of $where', ({ isMerged }) => {
  const named = (tool: string) => (isMerged ? `one__${tool}` : tool);
  const made = async (ask: ReturnType<typeof guest>, tool: string, args: object = {}): Promise<string> => {
    const { result, error } = await ask('tools/call', { name: named(tool), arguments: args });
    expect(error).toBeUndefined();
    expect(result.resultType).toBe('task');
    return result.taskId;
  };

  it(
    'a task is found by the id that the client was given, and never by that of the backend',
    verifies('gateway:tasks:carried'),
    async () => {
      const { one, url } = await open();
      const ask = guest(url(isMerged));
      const taskId = await made(ask, 'confirm_delete', { filename: 'a' });
      const job = one.last('confirm_delete');
      const { result } = await ask('tasks/get', { taskId });
      expect(result).toEqual({ ...one.shown(job), resultType: 'complete', taskId });
      expect(taskId).not.toContain(job.id);
      expect((await ask('tasks/get', { taskId: job.id })).error).toMatchObject({
        code: -32602,
        message: 'Unknown task',
      });
      const update = { taskId, inputResponses: { confirm: { action: 'accept', content: { confirm: true } } } };
      expect((await ask('tasks/update', update)).result).toEqual({ resultType: 'complete' });
      const done = (await ask('tasks/get', { taskId })).result;
      expect(done).toMatchObject({ status: 'completed', taskId });
      expect(done.result.content[0].text).toContain('"confirm":true');
      expect((await ask('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete' });
      const names = one.backend.received.filter(({ message }) => message?.method.startsWith('tasks/'));
      expect(new Set(names.map(({ headers }) => headers['mcp-name']))).toEqual(new Set([job.id]));
    },
  );

  it(
    'a client that does not declare the extension gets no task, and -32021 for every request about one',
    verifies('gateway:tasks:declared'),
    async () => {
      const { one, url } = await open();
      const taskId = await made(guest(url(isMerged)), 'slow_compute', { seconds: 60 });
      const plain = guest(url(isMerged), {}, {});
      const before = one.backend.received.length;
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        for (const id of [taskId, 'made-up']) {
          const { error } = await plain(method, { taskId: id, inputResponses: {} });
          expect(error.code).toBe(-32021);
          expect(error.data.requiredCapabilities).toEqual({ extensions: { [tasksId]: {} } });
        }
      }
      expect(one.backend.received.length).toBe(before);
      expect((await plain('tools/call', { name: named('failing_job') })).error.code).toBe(-32021);
      expect(
        (await plain('tools/call', { name: named('slow_compute'), arguments: { seconds: 0, label: 'x' } })).result,
      ).toMatchObject({
        content: [{ text: 'computed x' }],
      });
    },
  );

  it.each(['', ' ', 'x'.repeat(9_000), '1', '1AAAA', '\u0000', '"}', '../../x', 'e\u0301', `1____${'A'.repeat(60)}`])(
    'an id that was never given (%j) is -32602, and does not reach a backend',
    verifies('gateway:tasks:ids'),
    async (taskId) => {
      const { one, url } = await open();
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const { error } = await guest(url(isMerged))(method, { taskId, inputResponses: {} });
        expect(error).toMatchObject({ code: -32602, message: 'Unknown task' });
        expect(one.backend.of(method)).toEqual([]);
      }
    },
  );

  it(
    'the rules for a tool hold for its tasks, and a hidden task is an unknown one',
    verifies('gateway:tasks:policy'),
    async () => {
      const ring = keyRing();
      const [ana, ben] = [ring.make('ana'), ring.make('ben')];
      const { one, url } = await open({
        identity: { keys: { file: ring.path } },
        endpoints: [
          { path: '/merged', denials: 'hide' },
          { path: '/one', backends: ['one'] },
        ],
        policy: {
          rules: [
            {
              id: 'calls',
              effect: 'allow',
              what: ['call'],
              on: { tools: [named('slow_compute'), named('confirm_delete')] },
            },
            { id: 'no-task', effect: 'deny', what: ['task'], on: { tools: [named('confirm_delete')] } },
          ],
        },
        rates: [{ id: 'few', per: ['principal'], perSecond: 0.001, burst: 3 }],
      });
      const ask = guest(url(isMerged), bearer(ana));
      const taskId = await made(ask, 'slow_compute', { seconds: 60 });
      // Polls do not count as calls.
      for (let poll = 0; poll < 10; poll++) expect((await ask('tasks/get', { taskId })).result.taskId).toBe(taskId);
      const denied = await made(ask, 'confirm_delete', { filename: 'a' });
      const { error } = await ask('tasks/get', { taskId: denied });
      const foreign = (await guest(url(isMerged), bearer(ben))('tasks/get', { taskId })).error;
      expect(foreign).toMatchObject({ code: -32602, message: 'Unknown task' });
      if (isMerged) expect(error).toEqual(foreign);
      else expect(error.data).toMatchObject({ reason: 'policy_denied', rules: ['no-task'] });
      expect(
        one.backend.of('tasks/get').filter(({ message }) => message.params.taskId === one.last('confirm_delete').id),
      ).toEqual([]);
      expect(
        (await ask('tools/call', { name: named('slow_compute'), arguments: { seconds: 60 } })).result.resultType,
      ).toBe('task');
      expect((await ask('tools/call', { name: named('slow_compute') })).error.data.reason).toBe('rate_limited');
    },
  );

  it(
    'a question that the backend may not ask is answered for the client, which sees a task that goes on',
    verifies('gateway:tasks:policy'),
    async () => {
      const { one, url } = await open({
        policy: {
          rules: [
            { id: 'all', effect: 'allow', on: { tools: ['*'] } },
            { id: 'no-forms', effect: 'deny', on: { asks: ['elicitation', 'sampling'] } },
          ],
        },
      });
      const ask = guest(url(isMerged));
      const taskId = await made(ask, 'confirm_delete', { filename: 'a' });
      const { result } = await ask('tasks/get', { taskId });
      expect(result.status).toBe('working');
      expect(result.inputRequests).toBeUndefined();
      await one.backend.arrival('tasks/update');
      const done = (await ask('tasks/get', { taskId })).result;
      expect(done.result.content[0].text).toBe('answered: {"confirm":{"action":"cancel"}}');
      const sampled = await made(ask, 'sampled');
      await ask('tasks/get', { taskId: sampled });
      await one.backend.arrival('tasks/cancel');
      expect((await ask('tasks/get', { taskId: sampled })).result.status).toBe('cancelled');
    },
  );

  it('the result of a task has the same links as that of a call', verifies('gateway:tasks:carried'), async () => {
    const { url } = await open();
    const ask = guest(url(isMerged));
    const taskId = await made(ask, 'linked');
    const { result } = (await ask('tasks/get', { taskId })).result;
    expect(result._meta.ui.resourceUri).toBe(isMerged ? 'ui://one/page' : 'ui://page');
    expect(result.content[0].uri).toBe(isMerged ? 'ui://one/page' : 'ui://page');
  });
});

it('what a backend says of an error has the id of the client', verifies('gateway:tasks:ids'), async () => {
  const { one, url } = await open();
  const ask = guest(url(false));
  const { result } = await ask('tools/call', { name: 'slow_compute', arguments: { seconds: 60 } });
  const { taskId } = result;
  one.jobs.clear();
  for (const method of ['tasks/get', 'tasks/cancel'])
    expect((await ask(method, { taskId })).error).toMatchObject({ code: -32602, message: 'Unknown task' });
  const { error } = await ask('tasks/update', { taskId, inputResponses: {} });
  expect(error).toEqual({ code: -32602, message: `Unknown task: ${taskId}` });
});

it('a backend of an earlier design does not show its own id in answers about a task', {
  ...verifies('gateway:tasks:ids'),
}, async () => {
  const { one, url } = await open();
  one.isTalkative = true;
  const ask = guest(url(false));
  const made = (await ask('tools/call', { name: 'slow_compute', arguments: { seconds: 60 } })).result;
  const { id } = one.last('slow_compute');
  const { taskId } = made;
  one.finish(one.last('slow_compute'), { content: [], _meta: { [related]: { taskId: id }, kept: 1 } });
  const found = (await ask('tasks/get', { taskId })).result;
  expect(found.result).toEqual({ content: [], _meta: { kept: 1 } });
  expect(found._meta).toEqual({ kept: 1 });
  expect(made._meta).toEqual({ kept: 1 });
  for (const method of ['tasks/update', 'tasks/cancel'])
    expect((await ask(method, { taskId, inputResponses: {} })).result).toEqual({
      resultType: 'complete',
      _meta: { kept: 1 },
    });
});

it('an id does not open at another endpoint', verifies('gateway:tasks:ids'), async () => {
  const { url } = await open();
  const { result } = await guest(url(false))('tools/call', { name: 'slow_compute', arguments: { seconds: 60 } });
  for (const path of ['/other', '/merged']) {
    const other = guest(url(false).replace('/one', path));
    expect((await other('tasks/get', { taskId: result.taskId })).error.code).toBe(-32602);
  }
});

it(
  'a backend that makes a task of a call whose client has none fails the call',
  verifies('gateway:tasks:declared'),
  async () => {
    const { one, url } = await open();
    const plain = guest(url(false), {}, {});
    const forced = { name: 'greet', _bad: true };
    expect((await plain('tools/call', forced)).result).toBeDefined();
    one.isRude = true;
    expect((await plain('tools/call', forced)).error.data.reason).toBe('backend_invalid');
  },
);

it('a thousand tasks outlive a restart and are found at another replica, each only by its principal', {
  ...verifies('gateway:tasks:ids', 'gateway:tasks:carried'),
  timeout: 120_000,
}, async () => {
  const jobs = await openWorkshop('jobs');
  const ring = keyRing();
  const keys = Array.from({ length: 10 }, (_, nth) => ring.make(`user-${nth}`));
  const config = {
    backends: { jobs: { url: jobs.backend.url } },
    endpoints: [{ path: '/mcp' }],
    identity: { keys: { file: ring.path } },
    seal: { key: createHash('sha256').update('tasks').digest('hex') },
    name: 'workshop',
  };
  const place = await restarted(config);
  const given: { readonly key: string; readonly taskId: string; readonly job: string }[] = [];
  const label = (nth: number) => `label-${nth}`;
  for (let nth = 0; nth < 1000; nth++) {
    const key = keys[nth % keys.length] as string;
    const ask = guest(place.gateway.url(), bearer(key));
    const { result } = await ask('tools/call', {
      name: 'slow_compute',
      arguments: { seconds: 600, label: label(nth) },
    });
    given.push({ key, taskId: result.taskId, job: jobs.last('slow_compute').id });
  }
  expect(new Set(given.map(({ taskId }) => taskId)).size).toBe(1000);
  await place.start();
  const replica = await startGateway(config);
  let [found, foreign] = [0, 0];
  for (const [nth, { key, taskId, job }] of given.entries()) {
    const url = nth % 2 === 0 ? place.gateway.url() : replica.url();
    jobs.finish(jobs.jobs.get(job) as never);
    const { result } = await guest(url, bearer(key))('tasks/get', { taskId });
    if (result.taskId === taskId && result.status === 'completed') found += 1;
    const other = keys[(nth + 1) % keys.length] as string;
    const { error } = await guest(url, bearer(other))('tasks/get', { taskId });
    if (error?.code === -32602) foreign += 1;
  }
  expect({ found, foreign }).toEqual({ found: 1000, foreign: 1000 });
});
