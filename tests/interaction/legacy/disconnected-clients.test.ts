/** How much is kept for a client that is away, and what becomes of a call whose backend wants to be polled. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  allRevisions,
  behindLegacy,
  call,
  expectRefused,
  Held,
  hasRead,
  log,
  messagesOf,
  notification,
  refusedResume,
  result,
  resume,
  streaming,
  text,
  unknownEvent,
} from '../harness/behind.ts';
import type { OpenAnswer } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';

describe('the messages kept for a disconnected client', verifies('gateway:legacy:resume-bounded'), () => {
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

  it('is bounded in total: the stream that was idle for longest is dropped', async () => {
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

  it.each([
    { by: 'number', limits: { eventsPerStream: 3 }, fill: '' },
    { by: 'size', limits: { eventBytesPerStream: 8 * 1024 }, fill: 'x'.repeat(2500) },
  ])('is bounded by $by where no stream was open: the newest messages are kept', async ({ limits, fill }) => {
    const { url, backend } = await behindLegacy({}, { limits });
    const client = await connectLegacy(url);
    const upstream = await backend.standing();
    for (let n = 1; n <= 6; n++) upstream.event(log(`${n}${fill}`));
    await hasRead(backend, upstream);
    const stream = await client.listen();
    await stream.message(({ params }) => params?.data === `6${fill}`);
    expect(messagesOf(stream)).toEqual([log(`4${fill}`), log(`5${fill}`), log(`6${fill}`)]);
  });

  it('drop log messages first', async () => {
    const { url, backend } = await behindLegacy({}, { limits: { eventsPerStream: 3 } });
    const client = await connectLegacy(url);
    const upstream = await backend.standing();
    const changed = notification('notifications/tools/list_changed');
    upstream.event(changed);
    for (let n = 1; n <= 6; n++) upstream.event(log(`${n}`));
    await hasRead(backend, upstream);
    const stream = await client.listen();
    await stream.message(({ params }) => params?.data === '6');
    expect(messagesOf(stream)).toEqual([changed, log('5'), log('6')]);
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
    'is polled, and the client reconnects and loses nothing',
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
    'is polled, and a client of %s, which cannot reconnect, keeps its connection',
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
