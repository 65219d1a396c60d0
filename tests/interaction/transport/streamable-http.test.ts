/** Streamable HTTP towards clients: whole stories on the wire, and what each kind of client can be told. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { messagesOf, said } from '../backend/setup.ts';
import {
  behindLegacy,
  behindModern,
  call,
  echo,
  expectRefused,
  Held,
  legacyRevisions,
  notification,
  request,
  result,
  sessionNotFound,
  streaming,
  text,
} from '../harness/behind.ts';
import { type OpenAnswer, send, until } from '../harness/client.ts';
import { connectLegacy, eras, initialize, modern } from '../harness/eras.ts';
import { everyCapability } from '../harness/http-backend.ts';

const form = { message: 'Your name?', requestedSchema: { type: 'object', properties: {} } };

describe('a session', verifies('transport:streamable-http:stateful'), () => {
  it.each(legacyRevisions)('of %s works from initialize to DELETE, answered in event streams', async (revision) => {
    const endpoint = { profile: { revisions: [revision] } };
    const { url, backend } = await behindLegacy(echo, { limits: streaming, endpoint });
    const opened = await send(url, { body: initialize({ revision }) });
    expect(opened.status).toBe(200);
    expect(opened.json()).toEqual(
      result('init', {
        protocolVersion: revision,
        capabilities: everyCapability,
        serverInfo: { name: 'legacy', version: '1' },
      }),
    );
    const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']), 'mcp-protocol-version': revision };
    const post = (body: object) => send(url, { body, headers });
    expect(await post(notification('notifications/initialized'))).toMatchObject({ status: 202, body: '' });
    for (const n of [1, 2]) {
      const answer = await post(call(n, { n }));
      expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({
        status: 200,
        type: 'text/event-stream',
      });
      expect(messagesOf(answer)).toEqual([result(n, text(`{"n":${n}}`))]);
    }
    expect(messagesOf(await post(request('p', 'ping')))).toEqual([result('p', {})]);
    expect(await send(url, { method: 'DELETE', headers })).toMatchObject({ status: 204, body: '' });
    expectRefused(await post(call(3)), 404, { ...sessionNotFound, id: 3 });
    expect(backend.of('tools/call')).toHaveLength(2);
  });
});

describe('the messages of a call', verifies('transport:streamable-http:notifications'), () => {
  it.each(eras)('arrive in order on the stream of its own request, and nowhere else, %s', async (era) => {
    const held = new Held();
    const { url } = await (era === 'legacy' ? behindLegacy : behindModern)({
      'tools/call': held.take,
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
    });
    const client = era === 'legacy' ? await connectLegacy(url) : undefined;
    const listening = await client?.listen();
    const level = { 'io.modelcontextprotocol/logLevel': 'debug' };
    const ask = (id: number) => {
      const meta = { progressToken: id };
      if (client !== undefined) return client.post(call(id, { id }, meta));
      const params = { name: 'work', arguments: { id } };
      return send(url, modern({ id, method: 'tools/call', params, meta: { ...meta, ...level } }));
    };
    const running = [ask(1), ask(2)];
    await held.nth(2);
    const done = { ...(era === 'modern' && { resultType: 'complete' }), ...text('done') };
    const storyOf = (id: number, token: unknown, answerId: number) => [
      said(`${id} begins`),
      notification('notifications/progress', { progressToken: token, progress: 1 }),
      said(`${id} goes on`),
      notification('notifications/progress', { progressToken: token, progress: 2 }),
      said(`${id} ends`),
      result(answerId, done),
    ];
    for (const turn of held.turns) turn.stream();
    const stories = held.turns.map((turn) => {
      const { arguments: args, _meta } = turn.message.params;
      return storyOf(args.id, _meta.progressToken, turn.message.id);
    });
    for (const step of stories[0]?.keys() ?? []) {
      for (const [at, turn] of held.turns.entries()) turn.event(stories[at]?.[step]);
    }
    for (const turn of held.turns) turn.end();
    for (const [at, answer] of (await Promise.all(running)).entries()) {
      expect(messagesOf(answer)).toEqual(storyOf(at + 1, at + 1, at + 1));
    }
    expect(listening === undefined ? [] : messagesOf(listening)).toEqual([]);
  });
});

describe('messages without a call', verifies('transport:streamable-http:unrelated-messages'), () => {
  it('goes to the GET stream of the client, in order, and not to the stream of a call that runs', async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url, { capabilities: { roots: {} } });
    const listening = await client.listen();
    const stream = await client.stream(call(1));
    const turn = await held.nth(1);
    const news = [
      notification('notifications/tools/list_changed'),
      notification('notifications/resources/updated', { uri: 'note://1' }),
      said('by the way'),
    ];
    const standing = await backend.standing();
    for (const one of news) standing.event(one);
    await listening.message(({ params }) => params?.data === 'by the way');
    turn.result(text('done'));
    await stream.ended;
    expect(messagesOf(listening)).toEqual(news);
    expect(messagesOf(stream)).toEqual([result(1, text('done'))]);
  });
});

describe('a server request', verifies('transport:streamable-http:server-to-client'), () => {
  it('goes out on the stream of the call, and its answer comes back in a POST of its own', async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url, { capabilities: { elicitation: {}, sampling: {} } });
    const listening = await client.listen();
    const stream = client.stream(call(1));
    const turn = (await held.nth(1)).stream();
    const questions = [
      { id: 'q', method: 'elicitation/create', params: form, answer: { action: 'accept', content: { name: 'Ada' } } },
      {
        id: 0,
        method: 'sampling/createMessage',
        params: { messages: [], maxTokens: 1 },
        answer: { role: 'assistant', model: 'm', content: { type: 'text', text: 'hm' } },
      },
    ];
    for (const { id, method, params, answer } of questions) {
      turn.event(request(id, method, params));
      const ask = await (await stream).message((message) => message.method === method);
      expect(ask.params).toEqual(params);
      expect(await client.post(result(ask.id, answer))).toMatchObject({ status: 202, body: '' });
      await until(
        () => backend.received.some(({ message }) => message?.id === id && message.result !== undefined),
        'the answer arrived',
      );
      const arrived = backend.received.find(({ message }) => message?.id === id && message.method === undefined);
      expect(arrived?.message).toEqual(result(id, answer));
      expect(arrived?.headers['mcp-session-id']).toBe('upstream-2');
    }
    turn.event(result(turn.message.id, text('done'))).end();
    await (await stream).ended;
    expect(messagesOf(await stream).map(({ method, id }) => method ?? id)).toEqual([
      'elicitation/create',
      'sampling/createMessage',
      1,
    ]);
    expect(messagesOf(listening)).toEqual([]);
  });
});

describe('a client that reconnects', verifies('transport:streamable-http:resumability'), () => {
  const lastId = ({ events }: OpenAnswer) => events.findLast(({ id }) => id !== undefined)?.id ?? '';

  it('with Last-Event-ID gets the missed messages of a call, once and in order, and then the end', async () => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url);
    const stream = await client.stream(call(1));
    const turn = (await held.nth(1)).stream().event(said('one'));
    await stream.message(({ params }) => params?.data === 'one');
    stream.close();
    turn.event(said('two')).event(said('three'));
    const back = await client.listen({ 'last-event-id': lastId(stream) });
    await back.message(({ params }) => params?.data === 'three');
    turn.event(result(turn.message.id, text('done'))).end();
    await back.ended;
    expect(messagesOf(back)).toEqual([said('two'), said('three'), result(1, text('done'))]);
    // And again, after the end, from where it was first lost.
    const late = await client.listen({ 'last-event-id': lastId(stream) });
    await late.ended;
    expect(messagesOf(late)).toEqual(messagesOf(back));
  });

  it('gets the missed messages of its GET stream', async () => {
    const { url, backend } = await behindLegacy();
    const client = await connectLegacy(url);
    const first = await client.listen();
    const standing = await backend.standing();
    standing.event(said('one'));
    await first.message(({ params }) => params?.data === 'one');
    first.close();
    standing.event(said('two'));
    const second = await client.listen({ 'last-event-id': lastId(first) });
    await second.message(({ params }) => params?.data === 'two');
    standing.event(said('three'));
    await second.message(({ params }) => params?.data === 'three');
    expect(messagesOf(second)).toEqual([said('two'), said('three')]);
  });
});

describe('a foreign Origin', verifies('transport:streamable-http:origin-validation'), () => {
  it('is 403 before the session is looked up, for every method', async () => {
    const { url, backend } = await behindLegacy(echo);
    const client = await connectLegacy(url);
    // Whatever the beginning of the session causes has happened.
    await backend.standing();
    backend.forget();
    const refused = { code: -32600, message: 'Origin not allowed', reason: 'origin_not_allowed' };
    const origin = { origin: 'https://evil.example' };
    for (const session of [client.session, 'unknown']) {
      const headers = { ...origin, 'mcp-session-id': session };
      expectRefused(await send(url, { body: call(1), headers }), 403, refused);
      expectRefused(
        await send(url, { method: 'GET', headers: { ...headers, accept: 'text/event-stream' } }),
        403,
        refused,
      );
      expectRefused(await send(url, { method: 'DELETE', headers }), 403, refused);
    }
    expect(backend.received.filter(({ http }) => http === 'POST')).toEqual([]);
    // It was neither used nor ended.
    expect((await client.post(call(2, { n: 2 }))).json()).toEqual(result(2, text('{"n":2}')));
  });
});
