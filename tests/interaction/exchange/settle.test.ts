/** An exchange ends once: whatever its backend, its client and the clock do at the same time. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, call, cancelled, Held, messagesOf, result, text } from '../harness/behind.ts';
import { type Answer, begin, type Json, open, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, type LegacyClient, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Turn } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';

const done = (name: string) => ({ resultType: 'complete', ...text(name) });
const answers = (answer: Pick<Answer, 'events' | 'body'>): Json[] =>
  answer.events.length > 0
    ? messagesOf(answer).filter(({ method }) => method === undefined)
    : [JSON.parse(answer.body)];

interface Doubled {
  readonly name: string;
  /** What a backend says that does not know when it is done. */
  readonly says: (id: number) => readonly object[];
  readonly expected: object;
}

const error = (id: number, code: number) => ({ jsonrpc: '2.0', id, error: { code, message: 'no' } });
const doubled: readonly Doubled[] = [
  {
    name: 'two results',
    says: (id) => [result(id, done('first')), result(id, done('second'))],
    expected: { result: text('first') },
  },
  {
    name: 'a result and an error',
    says: (id) => [result(id, done('first')), error(id, -1)],
    expected: { result: text('first') },
  },
  {
    name: 'an error and a result',
    says: (id) => [error(id, -1), result(id, done('second'))],
    expected: { error: { code: -1, message: 'no' } },
  },
  {
    name: 'the answer to something else first',
    says: (id) => [result(id + 1000, done('other')), result(id, done('first')), result(id, done('second'))],
    expected: { result: text('first') },
  },
  {
    name: 'a result and a question for more',
    says: (id) => [result(id, done('first')), result(id, { resultType: 'input_required', requestState: 's' })],
    expected: { result: text('first') },
  },
];

/** The tool that is called decides what is said. */
const saidBy = ({ id, params }: Json): readonly object[] =>
  (doubled.find(({ name }) => name === params.name) as Doubled).says(id);

describe('a backend that answers a request twice', verifies('gateway:exchange:one-settle'), () => {
  const sides = [
    { era: 'modern', behind: behindModern, start: modernProcess },
    { era: 'legacy', behind: behindLegacy, start: legacyProcess },
  ];
  /** Both eras of client, two calls each, so that a late answer to the first would meet the second. */
  const expectOnce = async (url: string): Promise<void> => {
    const client = await connectLegacy(url);
    for (const { name, expected } of doubled) {
      for (const id of ['c', 'd']) {
        const older = await client.post({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });
        const newer = await send(url, modern({ id, method: 'tools/call', params: { name } }));
        for (const answer of [older, newer])
          expect({ name, said: answers(answer) }).toMatchObject({ name, said: [{ id, ...expected }] });
      }
    }
  };

  it.each(sides)('is read once, over HTTP: $era', async ({ behind }) => {
    const { url } = await behind({
      'tools/call': (turn) => {
        turn.stream();
        for (const message of saidBy(turn.message)) turn.event(message);
        turn.end();
      },
    });
    await expectOnce(url);
  });

  it.each(sides)('is read once, over a pipe: $era', async ({ start }) => {
    const { command, args } = await start({
      'tools/call': (turn) => {
        for (const message of saidBy(turn.message)) turn.process.say(message);
      },
    });
    const gateway = await startGateway({ backends: { b: { command, args } } });
    await expectOnce(gateway.url('b'));
  });
});

describe('an event that races with the response of a call', verifies('gateway:exchange:one-settle'), () => {
  /** The answer and the other thing, in both orders and in the same turn of the event loop. */
  const orders = ['answer first', 'answer last'] as const;
  const inOrder = async (order: (typeof orders)[number], answer: () => void, other: () => unknown): Promise<void> => {
    if (order === 'answer first') answer();
    const pending = other();
    if (order === 'answer last') answer();
    await pending;
  };

  /** Whatever came of it: the session serves the next call, and the call before it does not answer that. */
  const expectNext = async (client: LegacyClient, held: Held, nth: number): Promise<void> => {
    const next = client.post(call('next'));
    (await held.nth(nth)).result(text('next'));
    expect(messagesOf(await next)).toEqual([result('next', text('next'))]);
  };

  it.each(orders)('may be a cancellation of a legacy client: %s', async (order) => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take }, { limits: { sseAfterMs: 0 } });
    const client = await connectLegacy(url);
    for (let round = 1; round <= 10; round++) {
      const stream = await client.stream(call('c'));
      const turn = await held.nth(2 * round - 1);
      await inOrder(
        order,
        () => turn.result(text('done')),
        () => client.post(cancelled('c')),
      );
      await stream.ended;
      expect(stream.complete).toBe(true);
      const said = messagesOf(stream);
      expect(said.length).toBeLessThanOrEqual(1);
      expect(said).toEqual(said.map(() => result('c', text('done'))));
      await expectNext(client, held, 2 * round);
    }
  });

  it.each(orders)('may be that a modern client leaves: %s', async (order) => {
    const held = new Held();
    const { url, gateway } = await behindModern({ 'tools/call': held.take });
    for (let round = 1; round <= 10; round++) {
      const client = begin(url, modern({ id: 'c', method: 'tools/call', params: { name: 'work' } }));
      const turn = await held.nth(2 * round - 1);
      await inOrder(
        order,
        () => turn.result(done('first')),
        () => client.drop(),
      );
      const next = send(url, modern({ id: 'next', method: 'tools/call', params: { name: 'work' } }));
      (await held.nth(2 * round)).result(done('next'));
      expect((await next).json()).toEqual(result('next', done('next')));
    }
    expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it.each(orders)('may be the end of the session: %s', async (order) => {
    for (let round = 1; round <= 5; round++) {
      const held = new Held();
      const { url } = await behindLegacy({ 'tools/call': held.take }, { limits: { sseAfterMs: 0 } });
      const client = await connectLegacy(url);
      const stream = await client.stream(call('c'));
      const turn = await held.nth(1);
      await inOrder(
        order,
        () => turn.result(text('done')),
        () => client.end(),
      );
      await stream.ended;
      // Never silence: the caller did not cancel.
      const said = messagesOf(stream);
      expect(said).toHaveLength(1);
      expect(said[0].result ?? said[0].error.data.reason).toEqual(
        said[0].result === undefined ? 'session_ended' : text('done'),
      );
    }
  });

  it.each(orders)('may be the end of its time: %s', async (order) => {
    const clock = new LeapClock();
    const held = new Held();
    const { url } = await behindModern({ 'tools/call': held.take }, { limits: { sseAfterMs: 0 }, ports: { clock } });
    const stream = await open(url, modern({ id: 'c', method: 'tools/call', params: { name: 'work' } }));
    const turn = await held.nth(1);
    await inOrder(
      order,
      () => turn.result(done('first')),
      () => clock.leap(3_600_000),
    );
    await stream.ended;
    const said = messagesOf(stream);
    expect(said).toHaveLength(1);
    expect(said[0].result ?? said[0].error.data.reason).toEqual(
      said[0].result === undefined ? 'backend_timeout' : done('first'),
    );
  });

  it.each(orders)('may be the end of the gateway: %s', async (order) => {
    const held = new Held();
    const { url, gateway } = await behindModern({ 'tools/call': held.take }, { limits: { sseAfterMs: 0 } });
    const stream = await open(url, modern({ id: 'c', method: 'tools/call', params: { name: 'work' } }));
    const turn = await held.nth(1);
    await inOrder(
      order,
      () => turn.result(done('first')),
      () => gateway.close(0),
    );
    await stream.ended;
    const said = messagesOf(stream);
    expect(said).toHaveLength(1);
    expect(said[0].result ?? said[0].error.data.reason).toEqual(
      said[0].result === undefined ? 'shutting_down' : done('first'),
    );
  });

  it('may be that the backend is cut off', async () => {
    const held = new Held();
    const { url } = await behindModern({ 'tools/call': held.take });
    for (const cut of [(turn: Turn) => turn.cut(), (turn: Turn) => turn.end()]) {
      const nth = held.turns.length + 1;
      const pending = send(url, modern({ id: 'c', method: 'tools/call', params: { name: 'work' } }));
      const turn = await held.nth(nth);
      turn.stream().event(result(turn.message.id, done('first')));
      cut(turn);
      const said = answers(await pending);
      expect(said).toHaveLength(1);
      expect(said[0].result ?? said[0].error.data.reason).toEqual(
        said[0].result === undefined ? 'backend_unavailable' : done('first'),
      );
    }
    await until(() => held.turns.length === 2, 'both were called');
  });
});
