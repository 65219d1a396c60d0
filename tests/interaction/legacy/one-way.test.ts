/** Messages that are answered with a status alone: notifications, and answers to what was asked. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  type Behind,
  behindLegacy,
  call,
  Held,
  legacyRevisions,
  notification,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';

const allRevisions = { endpoint: { profile: { revisions: legacyRevisions, batches: 'allow' } } };
const taken = { status: 202, body: '' };
const form = { message: 'Your name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };

/** Asks in the middle of every call, and answers it with what came back. */
async function asking(): Promise<Behind> {
  const held = new Held();
  const answers = new Map<string, (answer: unknown) => void>();
  return behindLegacy(
    {
      'tools/call': (turn) => {
        held.take(turn);
        const id = `q-${turn.message.params.arguments.who}`;
        turn.stream().event(request(id, 'elicitation/create', form));
        answers.set(id, (answer) => turn.event(result(turn.message.id, text(JSON.stringify(answer)))).end());
      },
      POST: (turn) => {
        turn.raw(202, {});
        const { id, result: given, error } = turn.message;
        answers.get(id)?.(given ?? error);
      },
    },
    { limits: streaming },
  );
}

async function ask(client: LegacyClient, who: string) {
  const stream = await client.stream(call(who, { who }));
  const question = await stream.message(({ method }) => method === 'elicitation/create');
  return { stream, question };
}

describe.each(legacyRevisions)('%s', (revision) => {
  it(
    'a notification is exactly 202, with an empty body',
    verifies('gateway:legacy:notification-202', 'hosting:http:notifications-202'),
    async () => {
      const { url, backend } = await behindLegacy({}, allRevisions);
      const client = await connectLegacy(url, { revision });
      const sent = [
        notification('notifications/initialized'),
        notification('notifications/roots/list_changed'),
        notification('notifications/cancelled', { requestId: 'nobody' }),
        notification('notifications/progress', { progressToken: 'nobody', progress: 1 }),
        notification('notifications/of/tomorrow', { _meta: {} }),
      ];
      for (const message of sent) {
        for (const accept of ['application/json, text/event-stream', 'application/json', 'text/event-stream', '*/*']) {
          const answer = await client.post(message, { accept });
          expect(answer).toMatchObject(taken);
          expect(answer.headers['content-type']).toBeUndefined();
        }
      }
      // The handshake of the client is the handshake of its session upstream, once.
      await backend.arrival('notifications/initialized');
      expect(backend.of('notifications/initialized')).toHaveLength(1);
    },
  );

  it(
    'an answer to a ping is 202, whoever sent the ping',
    verifies('gateway:legacy:response-to-ping-202', 'hosting:http:notifications-202'),
    async () => {
      const { url, backend } = await behindLegacy({}, allRevisions);
      const client = await connectLegacy(url, { revision });
      await backend.standing();
      backend.forget();
      for (const id of [0, 1, 'ping-1']) expect(await client.post(result(id, {}))).toMatchObject(taken);
      expect(backend.bytes).toBe(0);
    },
  );
});

describe('the answer to a server request', () => {
  const replies = [
    { name: 'a result', reply: { result: { action: 'accept', content: { name: 'Ada' } } } },
    { name: 'an error', reply: { error: { code: -1, message: 'User rejected the request' } } },
  ];

  it.each(replies)(
    'is 202, and goes to the one that waits: $name',
    verifies('gateway:legacy:response-202', 'hosting:http:notifications-202'),
    async ({ reply }) => {
      const { url, backend } = await asking();
      const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
      const first = await ask(client, 'first');
      const second = await ask(client, 'second');
      expect(second.question.id).not.toBe(first.question.id);
      expect(second.question.params).toEqual(form);
      expect(await client.post({ jsonrpc: '2.0', id: second.question.id, ...reply })).toMatchObject(taken);
      const answer = await second.stream.message(({ id }) => id === 'second');
      expect(JSON.parse(answer.result.content[0].text)).toEqual(reply.result ?? reply.error);
      expect(first.stream.over).toBe(false);
      const upstream = backend.received.filter(({ message }) => message?.method === undefined && message !== undefined);
      // Under the backend's own id, and nothing of the other one.
      expect(upstream.map(({ message }) => message)).toEqual([{ jsonrpc: '2.0', id: 'q-second', ...reply }]);
    },
  );

  it(
    'does not settle the server request of another session that has the same id',
    verifies('gateway:legacy:response-foreign-session'),
    async () => {
      const { url, backend } = await asking();
      const capabilities = { elicitation: {} };
      const clients = [await connectLegacy(url, { capabilities }), await connectLegacy(url, { capabilities })] as const;
      const first = await ask(clients[0], 'first');
      const second = await ask(clients[1], 'second');
      expect(first.question.id).toBe(second.question.id);
      await clients[0].post(result(first.question.id, { action: 'accept', content: { name: 'Ada' } }));
      await first.stream.ended;
      expect(second.stream.over).toBe(false);
      // Once more: by now nobody waits in the first session, and somebody does in the second.
      expect(await clients[0].post(result(first.question.id, { action: 'cancel' }))).toMatchObject(taken);
      await clients[1].post(result(second.question.id, { action: 'decline' }));
      const answers = [
        await first.stream.message(({ id }) => id === 'first'),
        await second.stream.message(({ id }) => id === 'second'),
      ];
      expect(answers.map((answer) => JSON.parse(answer.result.content[0].text))).toEqual([
        { action: 'accept', content: { name: 'Ada' } },
        { action: 'decline' },
      ]);
      expect(backend.received.filter(({ message }) => message?.result !== undefined)).toHaveLength(2);
    },
  );

  it(
    'that is unknown is 202, dropped and counted, and no backend gets it',
    verifies('gateway:legacy:response-unasked'),
    async () => {
      const { url, backend, gateway } = await asking();
      const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
      const { question, stream } = await ask(client, 'one');
      const accepted = result(question.id, { action: 'accept', content: {} });
      await client.post(accepted);
      await stream.ended;
      backend.forget();
      const unasked = [
        // A second answer; ids that were never given out, and the right one as a string; answers without any id.
        accepted,
        result(999, { action: 'accept' }),
        result(String(question.id), { action: 'accept' }),
        { jsonrpc: '2.0', id: question.id, error: { code: -32600, message: 'no' } },
        { jsonrpc: '2.0', error: { code: -32700, message: 'I could not read that' } },
      ];
      for (const message of unasked) expect(await client.post(message)).toMatchObject(taken);
      expect(backend.bytes).toBe(0);
      expect(gateway.counters.snapshot()['exchange.unasked_response']).toBe(unasked.length);
    },
  );
});

describe('a malformed response', verifies('gateway:legacy:response-malformed'), () => {
  const malformed = [
    {
      name: 'both a result and an error',
      body: { jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: 'x' } },
    },
    { name: 'a result without an id', body: { jsonrpc: '2.0', result: {} } },
    { name: 'a result with a null id', body: { jsonrpc: '2.0', id: null, result: {} } },
    { name: 'a fractional id', body: '{"jsonrpc":"2.0","id":1.5,"result":{}}' },
    { name: 'an id that is an object', body: { jsonrpc: '2.0', id: {}, result: {} } },
    { name: 'a result that is no object', body: { jsonrpc: '2.0', id: 1, result: 'accept' } },
    { name: 'an error that is no object', body: { jsonrpc: '2.0', id: 1, error: 'no' } },
    { name: 'an error without a code', body: { jsonrpc: '2.0', id: 1, error: { message: 'no' } } },
    { name: 'no version', body: { id: 1, result: {} } },
  ];

  it.each(malformed)('is 400 with -32600: $name', async ({ body }) => {
    const { url, backend, gateway } = await asking();
    const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
    const { question, stream } = await ask(client, 'one');
    expect(question.id).toBe(1);
    backend.forget();
    const answer = await client.post(body);
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('application/json');
    const { error, ...envelope } = answer.json();
    expect(error).toMatchObject({ code: -32600, data: { reason: 'invalid_request' } });
    expect(envelope).toEqual({ jsonrpc: '2.0' });
    expect(backend.bytes).toBe(0);
    expect(stream.over).toBe(false);
    expect(gateway.counters.snapshot()['exchange.unasked_response']).toBeUndefined();
  });
});
