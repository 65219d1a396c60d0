/**
 * A backend on a pipe does not say which of two calls it asks for. A client that has not opened a stream with GET is
 * asked on the stream of one of its POSTs.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, request, result, streaming, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend } from '../harness/http-backend.ts';
import { legacyProcess, type StdioTurn } from '../harness/stdio-backend.ts';

const form = { message: 'Which?', requestedSchema: { type: 'object', properties: {} } };
const accepted = { action: 'accept', content: {} };

/** Asks once two calls wait, and answers both with what the client said. */
async function asking() {
  const waiting: StdioTurn[] = [];
  return legacyProcess({
    'tools/call': (turn) => {
      waiting.push(turn);
      if (waiting.length === 2) turn.process.say(request('q', 'elicitation/create', form));
    },
    response: ({ message }) => {
      for (const turn of waiting.splice(0)) turn.result(text(JSON.stringify(message.result ?? message.error)));
    },
  });
}

describe('a server request while two calls are in flight', verifies('gateway:legacy:ask-on-open-post'), () => {
  it.each([
    { name: 'streams from the beginning', limits: streaming },
    { name: 'answers that would have been JSON', limits: {} },
  ])('reaches a client without a GET stream: $name', async ({ limits }) => {
    const backend = await asking();
    const other = await legacyBackend();
    const stdio = { command: backend.command, args: backend.args };
    const gateway = await startGateway({ backends: { b: stdio, other: { url: other.url } }, limits });
    for (const { url, name } of [
      { url: gateway.url('b'), name: 'work' },
      { url: gateway.url(), name: 'b__work' },
    ]) {
      const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
      const calling = ['one', 'two'].map((id) => client.stream(request(id, 'tools/call', { name, arguments: {} })));
      const first = await Promise.race(calling);
      const streams = await Promise.all([first, ...calling.map((answer) => Promise.race([answer, first]))]);
      const asked = () => streams.flatMap(({ events }) => events.flatMap(({ data, json }) => (data ? [json()] : [])));
      await until(() => asked().some(({ method }) => method === 'elicitation/create'), 'the client was asked');
      const question = asked().find(({ method }) => method === 'elicitation/create');
      expect((await client.post(result(question.id, accepted))).status).toBe(202);
      for (const [index, id] of ['one', 'two'].entries()) {
        const stream = await (calling[index] as (typeof calling)[number]);
        await stream.ended;
        const answer = stream.events.length === 0 ? JSON.parse(stream.text()) : stream.events.at(-1)?.json();
        expect(answer).toEqual(result(id, text(JSON.stringify(accepted))));
      }
    }
  });

  it('prefers the GET stream where there is one', async () => {
    const backend = await asking();
    const gateway = await startGateway({ backends: { b: { command: backend.command, args: backend.args } } });
    const client = await connectLegacy(gateway.url('b'), { capabilities: { elicitation: {} } });
    const stream = await client.listen();
    const calls = ['one', 'two'].map((id) => client.post(call(id)));
    const question = await stream.message(({ method }) => method === 'elicitation/create');
    await client.post(result(question.id, accepted));
    for (const answer of await Promise.all(calls)) expect(answer.body).toContain('accept');
  });
});

describe('a server request that the call in flight did not need', verifies('gateway:legacy:asked-once'), () => {
  it.each([
    { name: 'listens', listens: true },
    { name: 'does not listen', listens: false },
  ])('is sent once to a client that $name, and its answer is accepted after the call', async ({ listens }) => {
    const answered: string[] = [];
    const backend = await legacyProcess({
      'tools/call': (turn) => {
        turn.process.say(request('q', 'elicitation/create', form));
        turn.result(text('done'));
      },
      response: ({ message }) => void answered.push(JSON.stringify(message.result)),
    });
    const stdio = { command: backend.command, args: backend.args };
    const gateway = await startGateway({ backends: { b: stdio }, limits: streaming });
    const client = await connectLegacy(gateway.url('b'), { capabilities: { elicitation: {} } });
    const standing = listens ? await client.listen() : undefined;
    const stream = await client.stream(call(1));
    await stream.ended;
    const said = () =>
      [...stream.events, ...(standing?.events ?? [])].flatMap(({ data, json }) => (data ? [json()] : []));
    const [question] = said().filter(({ method }) => method === 'elicitation/create');
    expect((await client.post(result(question.id, accepted))).status).toBe(202);
    await until(() => answered.length > 0, 'the server has its answer');
    expect(answered).toEqual([JSON.stringify(accepted)]);
    expect((await client.post(call(2))).status).toBe(200);
    expect(said().map(({ method }) => method)).not.toContain('notifications/cancelled');
    expect(said().filter(({ method, id }) => method === 'elicitation/create' && id === question.id)).toHaveLength(1);
  });
});
