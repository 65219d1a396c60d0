/**
 * Which stream a message goes out on: the answer to a POST on that POST, everything else on exactly one stream of the
 * client's.
 */
import { describe, expect, it } from 'vitest';
import { diverges, verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  echo,
  expectRefused,
  Held,
  hasRead,
  log,
  messagesOf,
  notification,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';

describe('GET', () => {
  it(
    'opens an event stream for messages without a call',
    verifies('gateway:legacy:get-stream', 'hosting:http:standalone-sse'),
    async () => {
      const { url, backend } = await behindLegacy();
      const client = await connectLegacy(url);
      const stream = await client.listen();
      expect(stream.status).toBe(200);
      expect(stream.headers).toMatchObject({
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      });
      const upstream = await backend.standing();
      const sent = [
        notification('notifications/tools/list_changed'),
        notification('notifications/resources/updated', { uri: 'file:///a' }),
        log('hello'),
      ];
      for (const message of sent) upstream.event(message);
      await stream.message(({ params }) => params?.data === 'hello');
      expect(messagesOf(stream)).toEqual(sent);
      expect(stream.over).toBe(false);
    },
  );

  it('delivers messages from before it was opened', verifies('hosting:http:standalone-sse'), async () => {
    const { url, backend } = await behindLegacy();
    const client = await connectLegacy(url);
    const upstream = await backend.standing();
    upstream.event(log('early')).event(log('earlier than the stream'));
    await hasRead(backend, upstream);
    const stream = await client.listen();
    await stream.message(({ params }) => params.data === 'earlier than the stream');
    expect(messagesOf(stream)).toEqual([log('early'), log('earlier than the stream')]);
  });

  it(
    'may be open several times; a message is sent on one of them, and moves when that one is closed',
    verifies('gateway:legacy:get-stream', 'hosting:http:no-broadcast'),
    async () => {
      const { url, backend } = await behindLegacy();
      const client = await connectLegacy(url);
      const upstream = await backend.standing();
      const streams = [await client.listen(), await client.listen(), await client.listen()];
      expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
      const heard = () => streams.flatMap((stream) => messagesOf(stream));
      for (let n = 1; n <= 20; n++) upstream.event(log(`${n}`));
      await until(() => heard().length === 20, 'all were heard');
      expect(heard()).toEqual(Array.from({ length: 20 }, (_, n) => log(`${n + 1}`)));
      const chosen = streams.find((stream) => messagesOf(stream).length > 0);
      chosen?.close();
      const others = streams.filter((stream) => stream !== chosen);
      // Until the gateway has seen that the connection is gone, it may still say it there.
      await until(() => {
        upstream.event(log('after'));
        return others.some((stream) => messagesOf(stream).length > 0);
      }, 'another stream is used');
      await hasRead(backend, upstream);
      expect(others.filter((stream) => messagesOf(stream).length > 0)).toHaveLength(1);
    },
  );

  it('a second time in one session is served', diverges('hosting:http:second-sse-rejected'), async () => {
    const { url } = await behindLegacy();
    const client = await connectLegacy(url);
    const [first, second] = [await client.listen(), await client.listen()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(first.over).toBe(false);
  });

  it(
    'is rejected if the session has too many, and accepted again when one is closed',
    verifies('gateway:legacy:stream-limit'),
    async () => {
      const { url } = await behindLegacy({}, { limits: { streamsPerSession: 2 } });
      const [client, other] = [await connectLegacy(url), await connectLegacy(url)];
      const streams = [await client.listen(), await client.listen()];
      const third = () => send(url, { method: 'GET', headers: { ...client.headers, accept: 'text/event-stream' } });
      expectRefused(await third(), 429, { code: -32603, message: 'Too many streams', reason: 'too_many_requests' });
      // Neither those that are open nor another session are the worse for it.
      expect(streams.map(({ over }) => over)).toEqual([false, false]);
      expect((await other.listen()).status).toBe(200);
      expect((await client.post(request(1, 'ping'))).json().result).toEqual({});
      streams[0]?.close();
      const opened = async () => {
        const stream = await client.listen();
        return stream.status === 200 ? stream : undefined;
      };
      let again = await opened();
      while (again === undefined) again = await opened();
      expect(again.over).toBe(false);
    },
  );

  it('never carries a response', verifies('hosting:http:standalone-sse-no-response'), async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const stream = await client.listen();
    const upstream = await backend.standing();
    const [quick, running] = [await client.post(request(1, 'ping')), client.post(call(2))];
    const turn = await held.nth(1);
    // A backend that answers on the wrong stream, too, is not followed.
    upstream.event(result(turn.message.id, text('on the wrong stream')));
    upstream.event(result(2, text('under the id of the client')));
    upstream.event(log('the last'));
    await stream.message(({ method }) => method === 'notifications/message');
    turn.result(text('on the right one'));
    expect(quick.json()).toEqual(result(1, {}));
    expect((await running).json()).toEqual(result(2, text('on the right one')));
    expect(messagesOf(stream)).toEqual([log('the last')]);
  });
});

describe('a POST', () => {
  it(
    'carries its own response, and ends with it',
    verifies(
      'hosting:http:response-same-connection',
      'hosting:http:sse-close-after-response',
      'hosting:http:no-broadcast',
    ),
    async () => {
      const held = new Held();
      const { url } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
      const client = await connectLegacy(url, { revision: '2025-06-18' });
      const listening = await client.listen();
      const streams = [
        await client.stream(call('first', { n: 1 }, { progressToken: 'p1' })),
        await client.stream(call('second', { n: 2 }, { progressToken: 'p2' })),
      ] as const;
      await held.nth(2);
      const turnOf = (n: number) => held.turns.find(({ message }) => message.params.arguments.n === n);
      for (const n of [2, 1]) {
        const turn = turnOf(n);
        const { progressToken } = turn?.message.params._meta ?? {};
        turn
          ?.stream()
          .event(notification('notifications/progress', { progressToken, progress: n }))
          .event(log(`about ${n}`))
          .event(result(turn.message.id, text(`answer ${n}`)))
          .end();
      }
      await Promise.all(streams.map((stream) => stream.ended));
      expect(streams.map(messagesOf)).toEqual([
        [
          notification('notifications/progress', { progressToken: 'p1', progress: 1 }),
          log('about 1'),
          result('first', text('answer 1')),
        ],
        [
          notification('notifications/progress', { progressToken: 'p2', progress: 2 }),
          log('about 2'),
          result('second', text('answer 2')),
        ],
      ]);
      expect(messagesOf(listening)).toEqual([]);
      expect(listening.over).toBe(false);
    },
  );

  it(
    'of a modern client carries its own response, and ends with it',
    verifies('hosting:http:response-same-connection', 'hosting:http:sse-close-after-response'),
    async () => {
      const script = {
        'tools/call': (turn: Parameters<Held['take']>[0]) => {
          const { _meta: meta, arguments: given } = turn.message.params;
          turn
            .stream()
            .event(notification('notifications/progress', { progressToken: meta.progressToken, progress: given.n }))
            .event(result(turn.message.id, { resultType: 'complete', ...text(`answer ${given.n}`) }))
            .end();
        },
      };
      const { url } = await behindModern(script);
      const answers = await Promise.all(
        [1, 2].map((n) => {
          const params = { name: 'work', arguments: { n } };
          return send(url, modern({ id: 1, method: 'tools/call', params, meta: { progressToken: `p${n}` } }));
        }),
      );
      expect(answers.map(({ events }) => events.map((event) => event.json()))).toEqual(
        [1, 2].map((n) => [
          notification('notifications/progress', { progressToken: `p${n}`, progress: n }),
          result(1, { resultType: 'complete', ...text(`answer ${n}`) }),
        ]),
      );
    },
  );

  it(
    'is one JSON document where that is all that the client accepts',
    verifies('hosting:http:json-response-mode'),
    async () => {
      const script = {
        'tools/call': (turn: Parameters<Held['take']>[0]) =>
          turn
            .stream()
            .event(log('left out'))
            .event(result(turn.message.id, text('the answer')))
            .end(),
      };
      const { url } = await behindLegacy(script, { limits: streaming });
      const client = await connectLegacy(url);
      const answer = await client.post(call(1), { accept: 'application/json' });
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.json()).toEqual(result(1, text('the answer')));
    },
  );

  it(
    'of a modern client is one JSON document where that is all that it accepts',
    verifies('hosting:http:json-response-mode'),
    async () => {
      const { url } = await behindLegacy(echo, { limits: streaming });
      const params = { name: 'work', arguments: { n: 1 } };
      const sent = modern({ id: 1, method: 'tools/call', params, headers: { accept: 'application/json' } });
      const answer = await send(url, sent);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.json().result.content).toEqual(text('{"n":1}').content);
    },
  );
});

describe('two requests in flight with one id', verifies('gateway:legacy:same-id-in-flight'), () => {
  it.each([{ limits: {} }, { limits: streaming }])('get their own answers, with $limits', async ({ limits }) => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits });
    const client = await connectLegacy(url);
    const numbers = [1, 2, 3, 4];
    const answers = numbers.map((n) => client.post(call(1, { n })));
    await held.nth(numbers.length);
    // In another order than they came in.
    for (const turn of [...held.turns].reverse()) turn.result(text(`n=${turn.message.params.arguments.n}`));
    const messages = (await Promise.all(answers)).map(({ headers, body, events }) =>
      headers['content-type'] === 'application/json' ? JSON.parse(body) : events.at(-1)?.json(),
    );
    expect(messages).toEqual(numbers.map((n) => result(1, text(`n=${n}`))));
    const ids = backend.of('tools/call').map(({ message }) => message.id);
    expect(new Set(ids).size).toBe(numbers.length);
    expect(ids).not.toContain(0);
  });
});
