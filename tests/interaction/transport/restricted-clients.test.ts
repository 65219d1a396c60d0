/**
 * Streamable HTTP towards clients that cannot be told everything: those that read JSON alone, that cancelled, or that
 * have no session.
 */
import { describe, expect, it } from 'vitest';
import { diverges, verifies } from '../../requirements/verifies.ts';
import { messagesOf, said } from '../backend/setup.ts';
import {
  behindLegacy,
  behindModern,
  call,
  cancelled,
  echo,
  Held,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';

const jsonAlone = { accept: 'application/json' };
const form = { message: 'Your name?', requestedSchema: { type: 'object', properties: {} } };

describe('a client that accepts JSON alone', () => {
  it.each(eras)(
    'is answered in JSON, however long it takes and whatever happens before, %s',
    verifies('transport:streamable-http:json-response'),
    async (era) => {
      const held = new Held();
      const script = {
        'tools/call': held.take,
        'tools/list': (turn: Turn) => turn.result({ resultType: 'complete', tools: [] }),
      };
      const { url } = await (era === 'legacy' ? behindLegacy : behindModern)(script, { limits: streaming });
      const work = { name: 'work', arguments: {} };
      const running =
        era === 'legacy'
          ? (await connectLegacy(url)).post(call(1), jsonAlone)
          : send(url, modern({ id: 1, method: 'tools/call', params: work, headers: jsonAlone }));
      const turn = (await held.nth(1)).stream().event(said('something'));
      const done = { ...(era === 'modern' && { resultType: 'complete' }), ...text('done') };
      turn.event(result(turn.message.id, done)).end();
      const answer = await running;
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.json()).toEqual(result(1, done));
    },
  );

  const asking = (held: Held) => ({
    'tools/call': (turn: Turn) => {
      held.take(turn);
      turn
        .stream()
        .event(said('before'))
        .event(request('q', 'elicitation/create', form));
    },
    POST: (turn: Turn) => {
      turn.raw(202, {});
      const { error, result: given } = turn.message;
      const [asked] = held.turns;
      asked?.event(result(asked.message.id, text(JSON.stringify(error?.code ?? given)))).end();
    },
  });
  const capabilities = { elicitation: {} };

  it(
    'can get no server request in its call: the request fails at once, and notifications are dropped',
    verifies('transport:streamable-http:json-response-restrictions'),
    async () => {
      const { url, backend } = await behindLegacy(asking(new Held()));
      const client = await connectLegacy(url, { capabilities });
      const answer = await client.post(call(1), jsonAlone);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.json()).toEqual(result(1, text('-32602')));
      const refused = backend.received.find(({ message }) => message?.id === 'q');
      expect(refused?.message.error.data).toEqual({ reason: 'ask_not_supported' });
    },
  );

  it(
    'gets server requests on its GET stream if it has one',
    verifies('transport:streamable-http:json-response-restrictions'),
    async () => {
      const { url } = await behindLegacy(asking(new Held()));
      const client = await connectLegacy(url, { capabilities });
      const listening = await client.listen();
      const running = client.post(call(1), jsonAlone);
      const ask = await listening.message(({ method }) => method === 'elicitation/create');
      expect(ask.params).toEqual(form);
      expect((await client.post(result(ask.id, { action: 'decline' }))).status).toBe(202);
      expect((await running).json()).toEqual(result(1, text('{"action":"decline"}')));
      expect(messagesOf(listening)).toEqual([ask]);
    },
  );
});

describe('the POST of a cancelled request', diverges('transport:streamable-http:cancelled-request-terminated'), () => {
  it('ends without a response where it is a stream', async () => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url);
    const stream = await client.stream(call(1));
    await held.nth(1);
    await client.post(cancelled(1));
    await stream.ended;
    expect({ status: stream.status, said: messagesOf(stream) }).toEqual({ status: 200, said: [] });
  });

  it('is an empty stream if nothing was sent yet', async () => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const running = client.post(call(1));
    await held.nth(1);
    await client.post(cancelled(1));
    const answer = await running;
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(answer.headers['content-type']).toBe('text/event-stream');
  });

  it('is 204 for a client that accepts JSON alone', async () => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const running = client.post(call(1), jsonAlone);
    await held.nth(1);
    await client.post(cancelled(1));
    expect(await running).toMatchObject({ status: 204, body: '' });
  });
});

describe('requests without a session', () => {
  it(
    'are served in the modern era, without a session id',
    verifies('transport:streamable-http:stateless'),
    async () => {
      const { url } = await behindModern({
        'prompts/list': (turn) => turn.result({ resultType: 'complete', prompts: [], ttlMs: 0, cacheScope: 'private' }),
      });
      for (const id of [1, 2]) {
        const answer = await send(url, modern({ id, method: 'prompts/list' }));
        expect(answer.json()).toMatchObject({ id, result: { prompts: [] } });
        expect(answer.headers['mcp-session-id']).toBeUndefined();
      }
    },
  );

  it(
    'are served in the legacy era where the endpoint allows it',
    verifies('transport:streamable-http:stateless'),
    async () => {
      const { url } = await behindLegacy(echo, { endpoint: { sessions: 'optional' } });
      for (const n of [1, 2]) {
        const answer = await send(url, { body: call(n, { n }) });
        expect(answer.json()).toEqual(result(n, text(`{"n":${n}}`)));
        expect(answer.headers['mcp-session-id']).toBeUndefined();
      }
    },
  );

  it(
    'can get no server request: the backend gets an error, and nothing hangs',
    verifies('transport:streamable-http:stateless-restrictions'),
    async () => {
      const codes: number[] = [];
      const questions = [
        { method: 'elicitation/create', params: form, code: -32602 },
        { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 }, code: -32600 },
        { method: 'roots/list', params: {}, code: -32601 },
      ];
      const held = new Held();
      const { url } = await behindLegacy(
        {
          'tools/call': (turn) => {
            held.take(turn);
            turn.stream();
            for (const { method, params } of questions) turn.event(request(method, method, params));
          },
          POST: (turn) => {
            turn.raw(202, {});
            codes[questions.findIndex(({ method }) => method === turn.message.id)] = turn.message.error.code;
            const [asked] = held.turns;
            if (Object.keys(codes).length === questions.length)
              asked?.event(result(asked.message.id, text('done'))).end();
          },
        },
        { endpoint: { sessions: 'optional' } },
      );
      const answer = await send(url, { body: call(1) });
      expect(answer.json()).toEqual(result(1, text('done')));
      expect(codes).toEqual(questions.map(({ code }) => code));
    },
  );
});
