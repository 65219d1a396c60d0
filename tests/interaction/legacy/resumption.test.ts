/** Streams that outlive their connections: event ids, what is replayed, and where that ends. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  allRevisions,
  behindLegacy,
  call,
  cancelled,
  expectRefused,
  Held,
  hasRead,
  legacyRevisions,
  log,
  messagesOf,
  refusedResume,
  replay,
  request,
  result,
  resume,
  streaming,
  text,
  unknownEvent,
} from '../harness/behind.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';

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
    'in %s cancels nothing: the result is kept, and delivered by a resumed stream',
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

  it('and resumed delivers later events, and continues live', verifies('hosting:resume:replay'), async () => {
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

  it('and resumed twice belongs to the newer connection', verifies('hosting:resume:replay'), async () => {
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

  it('of a GET delivers missed events, once and in order', verifies('hosting:resume:buffered-replay'), async () => {
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
  it('contains nothing of any other', verifies('hosting:resume:stream-scoped'), async () => {
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
    'of a settled request delivers the rest and ends, however often it is resumed',
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
