/** Streams that outlive their connections: event ids, what is replayed, and where that ends. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { OpenAnswer } from '../harness/client.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import {
  behindLegacy,
  call,
  cancelled,
  expectRefused,
  Held,
  hasRead,
  legacyRevisions,
  notification,
  request,
  result,
  streaming,
  text,
} from './setup.ts';

const unknownEvent = { code: -32600, message: 'Unknown event id', reason: 'unknown_event' };
const log = (data: string) => notification('notifications/message', { level: 'info', data });
const messagesOf = (stream: OpenAnswer) => stream.events.filter(({ data }) => data).map((event) => event.json());
const allRevisions = { profile: { revisions: legacyRevisions, batches: 'allow' } };

function resume(client: LegacyClient, eventId: string | undefined): Promise<OpenAnswer> {
  return client.listen({ 'last-event-id': eventId ?? '' });
}

async function refusedResume(client: LegacyClient, eventId: string) {
  const stream = await resume(client, eventId);
  await stream.ended;
  return {
    status: stream.status,
    headers: stream.headers,
    body: stream.text(),
    json: () => JSON.parse(stream.text()),
    events: [],
  };
}

/** What is left of a stream that has ended. */
async function replay(client: LegacyClient, eventId: string | undefined): Promise<OpenAnswer> {
  const stream = await resume(client, eventId);
  await stream.ended;
  return stream;
}

/** Resolves when nothing is in flight in a session that may have one request at a time. */
async function idle(client: LegacyClient): Promise<void> {
  let status = 0;
  while (status !== 200) ({ status } = await client.post(request('idle', 'ping'), { accept: 'application/json' }));
}

/** A call that has said two things, and whose client is gone. */
async function cutOff(revision = '2025-11-25') {
  const limits = { ...streaming, inFlightPerSession: 1 };
  const held = new Held();
  const behind = await behindLegacy({ 'tools/call': held.take }, { limits, endpoint: allRevisions });
  const client = await connectLegacy(behind.url, { revision });
  const stream = await client.stream(call('c'));
  const turn = await held.nth(1);
  turn.stream().event(log('one')).event(log('two'));
  await stream.message(({ params }) => params?.data === 'two');
  stream.close();
  return { ...behind, client, stream, turn, held };
}

describe('event ids', () => {
  it('are on every event, and none is used twice in a session', verifies('hosting:resume:event-ids'), async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url);
    const streams = [await client.listen(), await client.listen()];
    for (let n = 1; n <= 3; n++) {
      streams.push(await client.stream(call(n)));
      const turn = await held.nth(n);
      turn
        .stream()
        .event(log('a'))
        .event(log('b'))
        .event(result(turn.message.id, text('c')))
        .end();
    }
    (await backend.standing()).event(log('d')).event(log('e'));
    await streams[1]?.message(({ params }) => params?.data === 'e');
    await Promise.all(streams.slice(2).map((stream) => stream.ended));
    const ids = streams.flatMap(({ events }) => events.map(({ id }) => id));
    // Five first events, nine and two messages.
    expect(ids).toHaveLength(16);
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([
    { revision: '2025-03-26', first: [] },
    { revision: '2025-06-18', first: [] },
    { revision: '2025-11-25', first: [''] },
  ])(
    'a stream of $revision begins as its clients can read it',
    verifies('gateway:legacy:priming-by-revision', 'hosting:resume:priming'),
    async ({ revision, first }) => {
      const held = new Held();
      const { url, backend } = await behindLegacy(
        { 'tools/call': held.take },
        { limits: streaming, endpoint: allRevisions },
      );
      const client = await connectLegacy(url, { revision });
      const [listening, running] = [await client.listen(), await client.stream(call(1))];
      (await held.nth(1)).result(text('done'));
      await running.ended;
      (await backend.standing()).event(log('x'));
      await listening.message(({ method }) => method === 'notifications/message');
      expect(running.events.map(({ data }) => data)).toEqual([...first, JSON.stringify(result(1, text('done')))]);
      expect(listening.events.map(({ data }) => data)).toEqual([...first, JSON.stringify(log('x'))]);
      for (const { id, event } of [...running.events, ...listening.events]) {
        expect(id).toMatch(/^[\x21-\x7e]+$/);
        expect(event).toBeUndefined();
      }
    },
  );
});

describe('a connection that is dropped', () => {
  it.each(legacyRevisions)(
    'in %s cancels nothing: the result waits, and is brought by a resumed stream',
    verifies(
      'gateway:legacy:disconnect-waits',
      'hosting:http:disconnect-not-cancel',
      'hosting:resume:buffered-replay',
      'flow:resume:tool-call-resumption-token',
    ),
    async (revision) => {
      const { client, stream, turn, backend } = await cutOff(revision);
      turn
        .event(log('three'))
        .event(result(turn.message.id, text('the result')))
        .end();
      await idle(client);
      const again = await replay(client, stream.events.at(-1)?.id);
      expect(messagesOf(again)).toEqual([log('three'), result('c', text('the result'))]);
      expect(again.over).toBe(true);
      expect(backend.of('notifications/cancelled')).toHaveLength(0);
      expect(backend.of('tools/call')).toHaveLength(1);
    },
  );

  it('and resumed brings what is later, and goes on live', verifies('hosting:resume:replay'), async () => {
    const { client, stream, turn, backend } = await cutOff();
    await hasRead(backend, turn);
    const [primer, one] = stream.events;
    const again = await resume(client, one?.id);
    await again.message(({ params }) => params?.data === 'two');
    turn.event(log('three'));
    await again.message(({ params }) => params?.data === 'three');
    expect(again.over).toBe(false);
    turn.event(result(turn.message.id, text('the result'))).end();
    await again.ended;
    expect(messagesOf(again)).toEqual([log('two'), log('three'), result('c', text('the result'))]);
    // The same events, under the same ids as before.
    expect(again.events[0]).toMatchObject({ id: stream.events[2]?.id, data: stream.events[2]?.data });
    const whole = await resume(client, primer?.id);
    await whole.ended;
    expect(messagesOf(whole)).toEqual([log('one'), log('two'), log('three'), result('c', text('the result'))]);
  });

  it('and taken up twice belongs to the newer connection', verifies('hosting:resume:replay'), async () => {
    const { client, stream, turn } = await cutOff();
    const last = stream.events.at(-1)?.id;
    const older = await resume(client, last);
    const newer = await resume(client, last);
    await older.ended;
    turn.event(result(turn.message.id, text('once'))).end();
    await newer.ended;
    expect(messagesOf(older)).toEqual([]);
    expect(messagesOf(newer)).toEqual([result('c', text('once'))]);
  });

  it('of a GET brings what came meanwhile, once and in order', verifies('hosting:resume:buffered-replay'), async () => {
    const { url, backend } = await behindLegacy();
    const client = await connectLegacy(url);
    const first = await client.listen();
    const upstream = await backend.standing();
    upstream.event(log('1')).event(log('2'));
    await first.message(({ params }) => params?.data === '2');
    const [, one] = first.events;
    first.close();
    for (let n = 3; n <= 10; n++) upstream.event(log(`${n}`));
    await hasRead(backend, upstream);
    const again = await resume(client, one?.id);
    await again.message(({ params }) => params?.data === '10');
    upstream.event(log('11'));
    await again.message(({ params }) => params?.data === '11');
    expect(messagesOf(again)).toEqual(Array.from({ length: 10 }, (_, n) => log(`${n + 2}`)));
    const ids = again.events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a resumed stream', () => {
  it('holds nothing of any other', verifies('hosting:resume:stream-scoped'), async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const client = await connectLegacy(url);
    const listening = await client.listen();
    const streams = [await client.stream(call('a')), await client.stream(call('b'))] as const;
    await held.nth(2);
    (await backend.standing()).event(log('for nobody in particular'));
    for (const turn of held.turns) {
      turn
        .stream()
        .event(log('running'))
        .event(result(turn.message.id, text('done')))
        .end();
    }
    await Promise.all([...streams.map((stream) => stream.ended), listening.message(() => true)]);
    listening.close();
    const [a, b] = [await resume(client, streams[0].events[0]?.id), await resume(client, streams[1].events[0]?.id)];
    const standalone = await resume(client, listening.events[0]?.id);
    await Promise.all([a.ended, b.ended, standalone.message(() => true)]);
    expect(messagesOf(a)).toEqual([log('running'), result('a', text('done'))]);
    expect(messagesOf(b)).toEqual([log('running'), result('b', text('done'))]);
    expect(messagesOf(standalone)).toEqual([log('for nobody in particular')]);
    expect(standalone.over).toBe(false);
  });

  it(
    'of a settled request brings what is left and ends, however often it is asked for',
    verifies('gateway:legacy:resume-settled-ends', 'hosting:http:standalone-sse-no-response'),
    async () => {
      const { client, stream, turn } = await cutOff();
      turn.event(result(turn.message.id, text('the result'))).end();
      await idle(client);
      for (const { id } of stream.events) {
        const again = await replay(client, id);
        expect(messagesOf(again).at(-1)).toEqual(result('c', text('the result')));
      }
      const all = await resume(client, stream.events[0]?.id);
      await all.ended;
      const nothing = await resume(client, all.events.at(-1)?.id);
      await nothing.ended;
      expect({ status: nothing.status, body: nothing.text() }).toEqual({ status: 200, body: '' });
    },
  );

  it('of a cancelled request ends at once', verifies('gateway:legacy:cancel-resume-ends'), async () => {
    const { client, stream, turn } = await cutOff();
    expect((await client.post(cancelled('c'))).status).toBe(202);
    await turn.closed;
    for (const { id } of stream.events) {
      const again = await replay(client, id);
      expect(messagesOf(again)).toEqual(messagesOf(stream).slice(stream.events.findIndex((event) => event.id === id)));
    }
  });
});

describe('an event id that names no stream of the session', () => {
  const made = ['', 'x', '1', 's1-1', '-', '.-1', 'nothing.1-1', '../../etc-1', '9'.repeat(5000)];

  it('is answered 400', verifies('hosting:resume:bad-event-id'), async () => {
    const { client, stream } = await cutOff();
    const known = stream.events[0]?.id ?? '';
    const changed = [
      `${known}9`,
      `${known}x`,
      `x${known}`,
      known.replace(/-\d+$/, '-999'),
      known.replace(/-\d+$/, '--1'),
    ];
    for (const id of [...made, ...changed]) expectRefused(await refusedResume(client, id), 400, unknownEvent);
  });

  it('is answered 400 where another session has it', verifies('gateway:legacy:resume-foreign-id'), async () => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
    const clients = [await connectLegacy(url), await connectLegacy(url)] as const;
    const streams = [await clients[0].stream(call(1)), await clients[1].stream(call(1))] as const;
    for (const turn of [await held.nth(1), await held.nth(2)]) turn.result(text(turn.message.method));
    await Promise.all(streams.map((stream) => stream.ended));
    for (const [mine, other] of [
      [0, 1],
      [1, 0],
    ] as const) {
      for (const { id = '' } of streams[other].events) {
        expectRefused(await refusedResume(clients[mine], id), 400, unknownEvent);
      }
      const own = await resume(clients[mine], streams[mine].events[0]?.id);
      await own.ended;
      expect(messagesOf(own)).toEqual([result(1, text('tools/call'))]);
    }
  });
});

describe('what is kept for a client that is away', verifies('gateway:legacy:resume-bounded'), () => {
  async function fill(limits: Record<string, number>, events: readonly string[]) {
    const held = new Held();
    const behind = await behindLegacy({ 'tools/call': held.take }, { limits: { ...streaming, ...limits } });
    const client = await connectLegacy(behind.url);
    const stream = await client.stream(call(1));
    const turn = await held.nth(1);
    turn.stream();
    for (const data of events) turn.event(log(data));
    await hasRead(behind.backend, turn);
    await stream.message(({ params }) => params?.data === events.at(-1));
    return { ...behind, client, stream, turn, held };
  }
  const idOf = (stream: OpenAnswer, data: string) =>
    stream.events.find((event) => event.data && event.json().params?.data === data)?.id ?? '';

  it('is bounded by number', async () => {
    const { client, stream } = await fill({ eventsPerStream: 3 }, ['1', '2', '3', '4', '5']);
    expectRefused(await refusedResume(client, idOf(stream, '1')), 400, unknownEvent);
    const again = await resume(client, idOf(stream, '2'));
    await again.message(({ params }) => params.data === '5');
    expect(messagesOf(again)).toEqual([log('3'), log('4'), log('5')]);
  });

  it('is bounded by size', async () => {
    const large = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(3000));
    const { client, stream } = await fill({ eventBytesPerStream: 8 * 1024 }, large);
    expectRefused(await refusedResume(client, idOf(stream, large[0] as string)), 400, unknownEvent);
    const again = await resume(client, idOf(stream, large[1] as string));
    await again.message(({ params }) => params.data === large[3]);
    expect(messagesOf(again)).toEqual([log(large[2] as string), log(large[3] as string)]);
  });

  it('is bounded in all: the stream that was quiet for longest gives way', async () => {
    const limits = { eventBytesPerStream: 8 * 1024, eventBytesTotal: 8 * 1024 };
    const { client, stream, held, backend } = await fill(limits, ['x'.repeat(3000), 'y'.repeat(3000)]);
    const other = await client.stream(call(2));
    const turn = await held.nth(2);
    turn.stream().event(log('z'.repeat(6000)));
    await hasRead(backend, turn);
    expectRefused(await refusedResume(client, stream.events[0]?.id ?? ''), 400, unknownEvent);
    expectRefused(await refusedResume(client, idOf(stream, 'x'.repeat(3000))), 400, unknownEvent);
    const again = await resume(client, other.events[0]?.id);
    await again.message(({ params }) => params.data === 'z'.repeat(6000));
    expect(messagesOf(again)).toHaveLength(1);
  });

  it('is bounded where no stream was open: the newest messages are kept', async () => {
    const { url, backend } = await behindLegacy({}, { limits: { eventsPerStream: 3 } });
    const client = await connectLegacy(url);
    const upstream = await backend.standing();
    for (let n = 1; n <= 6; n++) upstream.event(log(`${n}`));
    await hasRead(backend, upstream);
    const stream = await client.listen();
    await stream.message(({ params }) => params?.data === '6');
    expect(messagesOf(stream)).toEqual([log('4'), log('5'), log('6')]);
  });
});

describe('a backend that closes the connection of a running call, to be polled', () => {
  /** 2025-11-25, basic/transports: an id, then `retry`, then the end of the connection; the rest comes on a GET. */
  async function polled(revision: string) {
    const resumed = new Held();
    const { url, backend } = await behindLegacy(
      {
        'tools/call': (turn) =>
          turn.stream().event('', { id: 'up-1' }).event(log('one'), { id: 'up-2', retry: 20 }).end(),
        GET: (turn) => (turn.received.headers['last-event-id'] === undefined ? turn.stream() : resumed.take(turn)),
      },
      { limits: streaming, endpoint: allRevisions },
    );
    const client = await connectLegacy(url, { revision });
    const stream = await client.stream(call('c'));
    const turn = await resumed.nth(1);
    const idOfCall = backend.of('tools/call')[0]?.message.id;
    const finish = () =>
      turn
        .stream()
        .event(log('two'), { id: 'up-3' })
        .event(result(idOfCall, text('done')), { id: 'up-4' })
        .end();
    return { client, stream, turn, finish, backend };
  }

  it(
    'is polled, and the client is told to come back and loses nothing',
    verifies('hosting:resume:close-stream', 'hosting:resume:priming'),
    async () => {
      const { client, stream, turn, finish, backend } = await polled('2025-11-25');
      await stream.ended;
      expect(turn.received.headers['last-event-id']).toBe('up-2');
      expect(stream.events[0]).toMatchObject({ data: '', id: expect.stringMatching(/./) });
      expect(messagesOf(stream)).toEqual([log('one')]);
      // Before the close that the gateway chose, when to come back.
      expect(stream.events.at(-1)).toMatchObject({ retry: 20, data: undefined });
      finish();
      const last = stream.events.filter(({ id }) => id !== undefined).at(-1)?.id;
      const again = await resume(client, last);
      await again.ended;
      expect(messagesOf(again)).toEqual([log('two'), result('c', text('done'))]);
      expect(backend.of('tools/call')).toHaveLength(1);
    },
  );

  it.each(['2025-03-26', '2025-06-18'])(
    'is polled, and a client of %s, which could not know that it should come back, is not sent away',
    verifies('hosting:resume:close-stream'),
    async (revision) => {
      const { stream, finish } = await polled(revision);
      await stream.message(({ params }) => params?.data === 'one');
      expect(stream.over).toBe(false);
      finish();
      await stream.ended;
      expect(messagesOf(stream)).toEqual([log('one'), log('two'), result('c', text('done'))]);
    },
  );
});
