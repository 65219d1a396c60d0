/** Ids and progress tokens: 0 is one like any other, and a number is not the text that it is written in. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  cancelled,
  Held,
  messagesOf,
  notification,
  result,
  text,
} from '../harness/behind.ts';
import { type Json, open, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernProcess } from '../harness/stdio-backend.ts';

const sides = [
  { era: 'legacy', behind: behindLegacy },
  { era: 'modern', behind: behindModern },
];
const tokens = [0, '0', '', 1, -1, 9007199254740991, 'é"\\'];

describe.each(sides)('an id and a token at a $era backend', ({ behind }) => {
  it.each(tokens)(
    'are those of the client, whatever they are: %j',
    verifies('gateway:exchange:id-zero'),
    async (id) => {
      const { url, backend } = await behind({
        'tools/call': (turn) => {
          const { progressToken } = turn.message.params._meta;
          turn.stream().event(notification('notifications/progress', { progressToken, progress: 1 }));
          turn.event(result(turn.message.id, { resultType: 'complete', ...text('done') })).end();
        },
      });
      const client = await connectLegacy(url);
      const older = await client.post(call(id, {}, { progressToken: id }));
      const newer = await send(
        url,
        modern({ id, method: 'tools/call', params: { name: 'work' }, meta: { progressToken: id } }),
      );
      for (const answer of [older, newer]) {
        const [progress, response] = messagesOf(answer);
        expect(progress).toEqual(notification('notifications/progress', { progressToken: id, progress: 1 }));
        expect(response).toMatchObject({ jsonrpc: '2.0', id, result: text('done') });
      }
      // Upstream there are ids of the gateway's own.
      for (const { message } of backend.of('tools/call')) {
        expect(message.id).toMatch(/^[\w-]{16}$/);
        expect(message.params._meta.progressToken).toBe(message.id);
      }
    },
  );
});

describe('the number 0 and the string "0"', verifies('gateway:exchange:id-types'), () => {
  it('are two requests in one session, each with its own answer', async () => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const [number, string] = [client.post(call(0, { n: 'number' })), client.post(call('0', { n: 'string' }))];
    await held.nth(2);
    for (const turn of [...held.turns].reverse()) turn.result(text(turn.message.params.arguments.n));
    expect((await number).json()).toEqual(result(0, text('number')));
    expect((await string).json()).toEqual(result('0', text('string')));
  });

  it.each([
    { named: 0, other: '0' },
    { named: '0', other: 0 },
  ])('are cancelled one by one: $named', async ({ named, other }) => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const first = client.stream(call(named));
    const wanted = await held.nth(1);
    const second = client.post(call(other));
    const kept = await held.nth(2);
    expect((await client.post(cancelled(named))).status).toBe(202);
    const told = await backend.arrival('notifications/cancelled');
    expect(told.message.params.requestId).toBe(wanted.message.id);
    kept.result(text('kept'));
    expect((await second).json()).toEqual(result(other, text('kept')));
    const stream = await first;
    await stream.ended;
    expect(messagesOf(stream)).toEqual([]);
    expect(backend.of('notifications/cancelled')).toHaveLength(1);
  });

  it('are two answers to a server request: the one with the wrong type is dropped', async () => {
    const held = new Held();
    const answers: Json[] = [];
    const { url } = await behindLegacy({
      'tools/call': held.take,
      POST: (turn) => {
        answers.push(turn.message);
        turn.raw(202, {});
      },
    });
    const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
    const opening = client.stream(call('c'));
    const turn = await held.nth(1);
    turn
      .stream()
      .event({ jsonrpc: '2.0', id: '7', method: 'elicitation/create', params: { message: 'a', requestedSchema: {} } });
    const stream = await opening;
    const ask = await stream.message(({ method }) => method === 'elicitation/create');
    expect(typeof ask.id).toBe('number');
    const decline = { action: 'decline' };
    expect((await client.post(result(String(ask.id), { action: 'accept', content: {} }))).status).toBe(202);
    expect((await client.post(result(ask.id, decline))).status).toBe(202);
    turn.event(result(turn.message.id, text('done'))).end();
    expect((await stream.message(({ id }) => id === 'c')).result).toEqual(text('done'));
    // Back under the type that the backend gave.
    expect(answers).toEqual([result('7', decline)]);
  });

  it('an answer of a backend under another id than the request has is dropped', async () => {
    const { url, gateway } = await behindModern({
      'tools/call': (turn) => {
        turn.stream().event(result(0, { resultType: 'complete', ...text('wrong') }));
        turn.event(result(turn.message.id, { resultType: 'complete', ...text('right') })).end();
      },
    });
    const answer = await send(url, modern({ method: 'tools/call', params: { name: 'work' } }));
    expect(answer.json().result).toMatchObject(text('right'));
    expect(gateway.counters.snapshot()['backend.noise.unknown_id']).toBe(1);
  });

  it('are two subscriptions on one pipe', async () => {
    const backend = await modernProcess({ 'subscriptions/listen': () => undefined });
    const { command, args } = backend;
    const gateway = await startGateway({ backends: { b: { command, args } } });
    const filter = { toolsListChanged: true };
    const listen = (id: string | number) =>
      open(gateway.url('b'), modern({ id, method: 'subscriptions/listen', params: { notifications: filter } }));
    const streams = [await listen(0), await listen('0')];
    await backend.arrival('subscriptions/listen', 2);
    const key = 'io.modelcontextprotocol/subscriptionId';
    for (const { message, process } of backend.of('subscriptions/listen')) {
      const _meta = { [key]: message.id };
      process.say(notification('notifications/subscriptions/acknowledged', { _meta, notifications: filter }));
      // Under another id: that is no subscription.
      process.say(notification('notifications/tools/list_changed', { _meta: { [key]: 0 } }));
      process.say(notification('notifications/tools/list_changed', { _meta }));
    }
    for (const [index, id] of [0, '0'].entries()) {
      const stream = streams[index];
      await stream?.message(({ method }) => method === 'notifications/tools/list_changed');
      const _meta = { [key]: id };
      expect(messagesOf(stream as NonNullable<typeof stream>)).toEqual([
        notification('notifications/subscriptions/acknowledged', { _meta, notifications: filter }),
        notification('notifications/tools/list_changed', { _meta }),
      ]);
    }
  });
});
