/**
 * What the stream of a modern request may hold.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Held, text } from '../harness/behind.ts';
import { type Json, open, send, until } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import {
  launchLegacyBackend,
  launchModernBackend,
  legacyBackend,
  modernBackend,
  type Script,
} from '../harness/http-backend.ts';
import { launchBehind, type Shared } from './setup.ts';

const logLevel = { 'io.modelcontextprotocol/logLevel': 'info' };
const notification = (method: string, params: object = {}) => ({ jsonrpc: '2.0', method, params });
const log = notification('notifications/message', { level: 'warning', data: 'careful' });
const own = notification('notifications/example.com/step', { step: 1 });

interface Case {
  readonly name: string;
  /** What the backend says before its result; it is given the id of its call. */
  readonly says: (id: number) => object;
  /** What the client hears of it. */
  readonly heard?: object;
  readonly meta?: object;
}

const silent: readonly Case[] = [
  ...['tools', 'prompts', 'resources'].map((list) => ({
    name: `a change of ${list}, which belongs to a subscription`,
    says: () => notification(`notifications/${list}/list_changed`),
  })),
  {
    name: 'a change of a resource',
    says: () => notification('notifications/resources/updated', { uri: 'file:///a' }),
  },
  {
    name: 'an acknowledgement of a subscription',
    says: () => notification('notifications/subscriptions/acknowledged', { notifications: {} }),
  },
  { name: 'a cancellation', says: (id) => notification('notifications/cancelled', { requestId: id }) },
  { name: 'a log message that was not requested', says: () => log },
  {
    name: 'a log message below the requested level',
    says: () => notification('notifications/message', { level: 'debug', data: 'detail' }),
    meta: logLevel,
  },
  {
    name: 'progress that was not requested',
    says: (id) => notification('notifications/progress', { progressToken: id, progress: 1 }),
  },
  {
    name: 'progress of something else',
    says: (id) => notification('notifications/progress', { progressToken: id + 1, progress: 1 }),
    meta: { progressToken: 'mine' },
  },
  {
    name: 'progress under the token of the client, which the backend does not know',
    says: () => notification('notifications/progress', { progressToken: 'mine', progress: 1 }),
    meta: { progressToken: 'mine' },
  },
];

const audible: readonly Case[] = [
  {
    name: 'its own progress',
    says: (id) => notification('notifications/progress', { progressToken: id, progress: 0.5, message: 'half' }),
    meta: { progressToken: 'mine' },
    heard: notification('notifications/progress', { progressToken: 'mine', progress: 0.5, message: 'half' }),
  },
  { name: 'a log message of the requested level', says: () => log, meta: logLevel, heard: log },
  { name: 'a notification that only its backend knows', says: () => own, heard: own },
];

const cases = [...silent, ...audible];

/** A tool for each case: it says something, then gives its result. */
const saying: Script = {
  'tools/call': (turn) => {
    const { id, params } = turn.message;
    const one = cases.find(({ name }) => name === params.name) as Case;
    turn
      .stream()
      .event(one.says(id))
      .event({ jsonrpc: '2.0', id, result: text('done') })
      .end();
  },
};

const backends = [
  { era: 'modern', launch: launchModernBackend },
  { era: 'legacy', launch: launchLegacyBackend },
];

describe.each(backends)(
  'the stream of a request at a $era backend',
  verifies('gateway:modern:stream-own-notifications'),
  ({ launch }) => {
    let shared: Shared;
    beforeAll(async () => {
      shared = await launchBehind(saying, {}, launch);
    });
    afterAll(() => shared.close());

    for (const { name, meta, heard } of cases) {
      it(`${heard === undefined ? 'does not hold' : 'holds'} ${name}`, async () => {
        const answer = await send(
          shared.url,
          modern({ id: 'c', method: 'tools/call', params: { name }, ...(meta && { meta }) }),
        );
        const isStream = answer.headers['content-type'] === 'text/event-stream';
        const messages: Json[] = isStream ? answer.events.map((event) => event.json()) : [answer.json()];
        expect(messages.slice(0, -1)).toEqual(heard === undefined ? [] : [heard]);
        expect(messages.at(-1)).toMatchObject({ id: 'c', result: text('done') });
      });
    }
  },
);

describe('the stream of a request', verifies('gateway:modern:stream-own-notifications'), () => {
  it('never contains a server request of a modern backend', async () => {
    const asked = { id: 'q', method: 'elicitation/create', params: { message: 'Who?', requestedSchema: {} } };
    const backend = await modernBackend({
      'tools/call': (turn) => {
        turn
          .stream()
          .event({ jsonrpc: '2.0', ...asked })
          .event({ jsonrpc: '2.0', id: 'p', method: 'ping' });
        turn.event({ jsonrpc: '2.0', id: turn.message.id, result: { resultType: 'complete', ...text('done') } }).end();
      },
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const capabilities = { elicitation: { form: {} } };
    const answer = await send(gateway.url('b'), modern({ method: 'tools/call', params: { name: 't' }, capabilities }));
    expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { resultType: 'complete', ...text('done') } });
    expect(gateway.counters.snapshot()['backend.odd.forbidden_request']).toBe(2);
    expect(backend.received.filter(({ message }) => message.method === undefined)).toEqual([]);
  });

  it('never contains a server request: it becomes an input request, and a ping is answered for the client', async () => {
    const held = new Held();
    const backend = await legacyBackend({ 'tools/call': held.take });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const params = { name: 't' };
    const capabilities = { elicitation: { form: {} } };
    const opening = open(
      gateway.url('b'),
      modern({ method: 'tools/call', params, capabilities, meta: { progressToken: 7 } }),
    );
    const turn = await held.nth(1);
    turn.stream().event(notification('notifications/progress', { progressToken: turn.message.id, progress: 1 }));
    turn.event({ jsonrpc: '2.0', id: 'p', method: 'ping' });
    turn.event({
      jsonrpc: '2.0',
      id: 'q',
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: {} },
    });
    const stream = await opening;
    await stream.ended;
    const messages = stream.events.map((event) => event.json());
    expect(messages.map(({ method, id }) => method ?? id)).toEqual(['notifications/progress', 1]);
    expect(messages[1].result.resultType).toBe('input_required');
    const answers = () => backend.received.filter(({ message }) => message?.id === 'p');
    await until(() => answers().length > 0, 'the ping is answered');
    expect(answers().map(({ message }) => message)).toEqual([{ jsonrpc: '2.0', id: 'p', result: {} }]);
  });

  it('contains its own messages and none of a concurrent request', async () => {
    const held = new Held();
    const backend = await modernBackend({ 'tools/call': held.take });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const call = (name: string) =>
      modern({ id: name, method: 'tools/call', params: { name }, meta: { progressToken: 'same', ...logLevel } });
    const opening = [open(gateway.url('b'), call('first')), open(gateway.url('b'), call('second'))];
    const turns = [await held.nth(1), await held.nth(2)];
    for (const turn of turns) {
      const { name } = turn.message.params;
      turn.stream().event(notification('notifications/message', { level: 'info', data: name }));
      turn.event(
        notification('notifications/progress', { progressToken: turn.message.id, progress: 1, message: name }),
      );
    }
    for (const turn of turns.reverse()) {
      turn.event({ jsonrpc: '2.0', id: turn.message.id, result: { resultType: 'complete', ...text('done') } }).end();
    }
    for (const [index, name] of ['first', 'second'].entries()) {
      const stream = await (opening[index] as ReturnType<typeof open>);
      await stream.ended;
      expect(stream.events.map((event) => event.json())).toEqual([
        notification('notifications/message', { level: 'info', data: name }),
        notification('notifications/progress', { progressToken: 'same', progress: 1, message: name }),
        { jsonrpc: '2.0', id: name, result: { resultType: 'complete', ...text('done') } },
      ]);
    }
  });
});
