/** Questions of a backend that are out at the same time, and questions that are taken back. */
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
import { type Json, type OpenAnswer, until } from '../harness/client.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';

const form = (message: string) => ({ message, requestedSchema: { type: 'object', properties: {} } });
const ask = (id: string | number, message: string) => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: form(message),
});
const accept = (name: string) => ({ action: 'accept', content: { name } });
const capabilities = { elicitation: {} };

/** A legacy backend whose calls wait, and what came back to its questions. */
async function behindAsking() {
  const held = new Held();
  const answers: Json[] = [];
  const behind = await behindLegacy({
    'tools/call': held.take,
    POST: (turn: Turn) => {
      answers.push(turn.message);
      turn.raw(202, {});
    },
  });
  const client = await connectLegacy(behind.url, { capabilities });
  return { ...behind, held, answers, client };
}

const asked = (stream: OpenAnswer, message: string): Promise<Json> =>
  stream.message(({ method, params }) => method === 'elicitation/create' && params.message === message);

async function reply(client: LegacyClient, question: Json, name: string): Promise<void> {
  expect((await client.post(result(question.id, accept(name)))).status).toBe(202);
}

describe('server requests that are open at the same time', verifies('gateway:exchange:asks-correlated'), () => {
  it('of one call get their own answers, in any order', async () => {
    const { client, held, answers } = await behindAsking();
    const opening = client.stream(call('c'));
    const turn = await held.nth(1);
    turn.stream().event(ask(1, 'one')).event(ask('1', 'two')).event(ask(0, 'three'));
    const stream = await opening;
    const questions = [await asked(stream, 'one'), await asked(stream, 'two'), await asked(stream, 'three')];
    expect(new Set(questions.map(({ id }) => id)).size).toBe(3);
    for (const [question, name] of [
      [questions[2], 'C'],
      [questions[0], 'A'],
      [questions[1], 'B'],
    ] as const)
      await reply(client, question, name);
    await until(() => answers.length === 3, 'the backend has all answers');
    expect(answers).toEqual([result(0, accept('C')), result(1, accept('A')), result('1', accept('B'))]);
    turn.event(result(turn.message.id, text('done'))).end();
    await stream.ended;
  });

  it('of two calls, and of none, arrive each on its own stream', async () => {
    const { client, held, answers, backend } = await behindAsking();
    const listening = await client.listen();
    const standing = await backend.standing();
    const openings = [client.stream(call('a', { who: 'a' })), client.stream(call('b', { who: 'b' }))];
    await held.nth(2);
    for (const turn of held.turns) {
      const { who } = turn.message.params.arguments;
      turn.stream().event(ask(`q-${who}`, `of ${who}`));
    }
    standing.event(ask('q', 'of none'));
    const [a, b] = await Promise.all(openings);
    const ofA = await asked(a as OpenAnswer, 'of a');
    const ofB = await asked(b as OpenAnswer, 'of b');
    const alone = await asked(listening, 'of none');
    await reply(client, alone, 'N');
    await reply(client, ofB, 'B');
    await reply(client, ofA, 'A');
    await until(() => answers.length === 3, 'the backend has all answers');
    expect(answers).toEqual([result('q', accept('N')), result('q-b', accept('B')), result('q-a', accept('A'))]);
  });

  it('of the sessions of two clients do not meet, though the ids are the same', async () => {
    const { client: first, held, answers, url, backend } = await behindAsking();
    const second = await connectLegacy(url, { capabilities });
    const clients = [first, second];
    const streams: OpenAnswer[] = [];
    for (const [index, client] of clients.entries()) {
      const opening = client.stream(call('c'));
      const turn = await held.nth(index + 1);
      turn.stream().event(ask('q', `to ${index}`));
      streams.push(await opening);
    }
    const questions = await Promise.all(streams.map((stream, index) => asked(stream, `to ${index}`)));
    // Both are the first question of their session.
    expect(questions[0].id).toBe(questions[1].id);
    await reply(second, questions[1], 'second');
    await until(() => answers.length === 1, 'the backend has one answer');
    const [posted] = backend.received.filter(({ message }) => message?.result !== undefined);
    expect(posted?.message).toEqual(result('q', accept('second')));
    expect(posted?.headers['mcp-session-id']).toBe(held.turns[1]?.received.headers['mcp-session-id']);
    await reply(first, questions[0], 'first');
    await until(() => answers.length === 2, 'the backend has both answers');
  });

  it('of a modern backend get their own answers', async () => {
    const { url, backend } = await behindModern({
      'tools/call': (turn) => {
        if (turn.message.params.inputResponses !== undefined) turn.result({ resultType: 'complete', ...text('done') });
        else {
          const inputRequests = Object.fromEntries(
            ['x', 'y', 'z'].map((key) => [key, { method: 'elicitation/create', params: form(key) }]),
          );
          turn.result({ resultType: 'input_required', inputRequests });
        }
      },
    });
    const client = await connectLegacy(url, { capabilities });
    const stream = await client.stream(call('c'));
    for (const key of ['z', 'x', 'y']) await reply(client, await asked(stream, key), key.toUpperCase());
    await stream.message(({ id }) => id === 'c');
    expect(backend.of('tools/call')[1]?.message.params.inputResponses).toEqual({
      x: accept('X'),
      y: accept('Y'),
      z: accept('Z'),
    });
  });
});

describe('a server request that its backend cancels', verifies('gateway:exchange:ask-withdrawn'), () => {
  it('is cancelled at the client, on the same stream, and a late answer is dropped', async () => {
    const { client, held, answers, gateway } = await behindAsking();
    const opening = client.stream(call('c'));
    const turn = await held.nth(1);
    turn.stream().event(ask('q', 'one')).event(ask('r', 'two'));
    const stream = await opening;
    const [one, two] = [await asked(stream, 'one'), await asked(stream, 'two')];
    turn.event(cancelled('q', 'never mind'));
    const told = await stream.message(({ method }) => method === 'notifications/cancelled');
    expect(told.params.requestId).toBe(one.id);
    await reply(client, one, 'late');
    // The other one is still out.
    await reply(client, two, 'in time');
    await until(() => answers.length > 0, 'the backend has an answer');
    turn.event(result(turn.message.id, text('done'))).end();
    await stream.ended;
    expect(answers).toEqual([result('r', accept('in time'))]);
    expect(messagesOf(stream).map(({ method, id }) => method ?? id)).toEqual([
      'elicitation/create',
      'elicitation/create',
      'notifications/cancelled',
      'c',
    ]);
    expect(gateway.counters.snapshot()['exchange.unasked_response']).toBe(1);
  });

  it('is cancelled on the standalone stream, if it came on that', async () => {
    const { client, answers, backend } = await behindAsking();
    const listening = await client.listen();
    const standing = await backend.standing();
    standing.event(ask('q', 'alone'));
    const question = await asked(listening, 'alone');
    standing.event(cancelled('q'));
    const told = await listening.message(({ method }) => method === 'notifications/cancelled');
    expect(told).toEqual(notification('notifications/cancelled', { requestId: question.id }));
    await reply(client, question, 'late');
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(200);
    expect(answers).toEqual([]);
  });

  it('is cancelled when its call is over', async () => {
    const { client, held, answers } = await behindAsking();
    const opening = client.stream(call('c'));
    const turn = await held.nth(1);
    turn.stream().event(ask('q', 'one'));
    const stream = await opening;
    const question = await asked(stream, 'one');
    turn.event(result(turn.message.id, text('done'))).end();
    await stream.ended;
    expect(messagesOf(stream).slice(-2)).toEqual([
      notification('notifications/cancelled', { requestId: question.id }),
      result('c', text('done')),
    ]);
    await reply(client, question, 'late');
    expect(answers.filter((one) => one.result !== undefined)).toEqual([]);
  });

  it('changes nothing if it is unknown or already answered', async () => {
    const { client, held, answers } = await behindAsking();
    const opening = client.stream(call('c'));
    const turn = await held.nth(1);
    turn.stream().event(cancelled('unknown')).event(ask('q', 'one'));
    const stream = await opening;
    await reply(client, await asked(stream, 'one'), 'A');
    await until(() => answers.length === 1, 'the backend has its answer');
    turn
      .event(cancelled('q'))
      .event(result(turn.message.id, text('done')))
      .end();
    await stream.ended;
    expect(messagesOf(stream).map(({ method, id }) => method ?? id)).toEqual(['elicitation/create', 'c']);
    expect(answers).toEqual([result('q', accept('A'))]);
  });
});
