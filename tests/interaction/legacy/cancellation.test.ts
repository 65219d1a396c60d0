/**
 * `notifications/cancelled`: the request is over without an answer, the backend is told under its own id, and nothing
 * is left.
 */
import { describe, expect, it } from 'vitest';
import { MemoryEventLog } from '../../../src/store/memory.ts';
import { verifies } from '../../requirements/verifies.ts';
import {
  allRevisions,
  behindLegacy,
  behindModern,
  call,
  cancelled,
  Held,
  hasRead,
  legacyRevisions,
  log,
  notification,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';

describe('a cancelled request', () => {
  it.each(legacyRevisions)(
    'of %s: its stream ends without an answer',
    verifies('gateway:legacy:cancel-ends-stream'),
    async (revision) => {
      const held = new Held();
      const { url } = await behindLegacy({ 'tools/call': held.take }, { endpoint: allRevisions, limits: streaming });
      const client = await connectLegacy(url, { revision });
      const stream = await client.stream(call('c'));
      const turn = await held.nth(1);
      turn.stream().event(log('running'));
      await stream.message(({ params }) => params?.data === 'running');
      expect(await client.post(cancelled('c'))).toMatchObject({ status: 202, body: '' });
      await stream.ended;
      expect(stream.status).toBe(200);
      expect(stream.events.filter(({ data }) => data).map((event) => event.json())).toEqual([log('running')]);
    },
  );

  it(
    'whose response form was still undecided gets an empty stream',
    verifies('gateway:legacy:cancel-ends-stream'),
    async () => {
      const held = new Held();
      const { url } = await behindLegacy({ 'tools/call': held.take });
      const client = await connectLegacy(url);
      const answer = client.post(call('c'));
      await held.nth(1);
      await client.post(cancelled('c'));
      const { status, headers, body } = await answer;
      expect({ status, type: headers['content-type'], body }).toEqual({
        status: 200,
        type: 'text/event-stream',
        body: '',
      });
    },
  );

  it('whose client accepts JSON only is 204', verifies('gateway:legacy:cancel-json-204'), async () => {
    const held = new Held();
    const { url } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const answer = client.post(call('c'), { accept: 'application/json' });
    await held.nth(1);
    await client.post(cancelled('c'));
    const { status, headers, body } = await answer;
    expect({ status, type: headers['content-type'], body }).toEqual({ status: 204, type: undefined, body: '' });
  });

  it(
    'is cancelled at the backend under its own id, with the reason, and no other is',
    verifies('gateway:legacy:cancel-upstream-id'),
    async () => {
      const held = new Held();
      const { url, backend } = await behindLegacy({ 'tools/call': held.take });
      const client = await connectLegacy(url);
      const answers = ['a', 0, '0', 'b'].map((id) => client.post(call(id, { id })));
      await held.nth(4);
      const turnOf = (id: string | number) => held.turns.find(({ message }) => message.params.arguments.id === id);
      await client.post(cancelled('0', 'The user said so'));
      await turnOf('0')?.closed;
      const { message } = await backend.arrival('notifications/cancelled');
      expect(message.params).toEqual({ requestId: turnOf('0')?.message.id, reason: 'The user said so' });
      for (const id of ['a', 0, 'b']) turnOf(id)?.result(text(`${typeof id} ${id}`));
      const [a, zero, , b] = await Promise.all(answers);
      expect(a?.json()).toEqual(result('a', text('string a')));
      expect(zero?.json()).toEqual(result(0, text('number 0')));
      expect(b?.json()).toEqual(result('b', text('string b')));
      expect(backend.of('notifications/cancelled')).toHaveLength(1);
    },
  );

  it('is cancelled at a modern backend by letting go', verifies('gateway:legacy:cancel-upstream-id'), async () => {
    const held = new Held();
    const { url, backend } = await behindModern({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const answer = client.post(call('c'), { accept: 'application/json' });
    const turn = await held.nth(1);
    await client.post(cancelled('c'));
    await turn.closed;
    expect((await answer).status).toBe(204);
    expect(backend.of('notifications/cancelled')).toHaveLength(0);
  });

  it(
    'is not answered by a backend that does it all the same',
    verifies('gateway:legacy:cancel-ends-stream'),
    async () => {
      const held = new Held();
      const { url, backend } = await behindLegacy({ 'tools/call': held.take }, { limits: streaming });
      const client = await connectLegacy(url);
      const listening = await client.listen();
      const stream = await client.stream(call('c'));
      const turn = await held.nth(1);
      await client.post(cancelled('c'));
      const upstream = await backend.standing();
      upstream.event(result(turn.message.id, text('too late')));
      upstream.event(notification('notifications/progress', { progressToken: turn.message.id, progress: 1 }));
      await hasRead(backend, upstream);
      await stream.ended;
      expect([...stream.events, ...listening.events].filter(({ data }) => data)).toEqual([]);
    },
  );
});

describe('a cancellation', () => {
  it('of an id that two requests in flight share is ignored', verifies('gateway:legacy:cancel-shared-id'), async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take });
    const client = await connectLegacy(url);
    const answers = [client.post(call(1, { n: 1 })), client.post(call(1, { n: 2 }))];
    await held.nth(2);
    expect((await client.post(cancelled(1))).status).toBe(202);
    for (const turn of held.turns) turn.result(text(`n=${turn.message.params.arguments.n}`));
    const [first, second] = await Promise.all(answers);
    expect([first?.json(), second?.json()]).toEqual([result(1, text('n=1')), result(1, text('n=2'))]);
    expect(backend.of('notifications/cancelled')).toHaveLength(0);
    // Once one of them is done, the id names the other alone.
    const [third, fourth] = [client.post(call(1, { n: 3 })), client.post(call(1, { n: 4 }))];
    await held.nth(4);
    const turnOf = (n: number) => held.turns.find(({ message }) => message.params.arguments.n === n);
    turnOf(3)?.result(text('n=3'));
    expect((await third).json()).toEqual(result(1, text('n=3')));
    await client.post(cancelled(1));
    await turnOf(4)?.closed;
    expect((await fourth).body).toBe('');
  });

  it.each([
    { name: 'an unknown id', params: { requestId: 'nobody' } },
    { name: 'no id', params: {} },
    { name: 'an unknown id', params: { requestId: { a: 1 } } },
    { name: 'the id of another session', params: { requestId: 'theirs' } },
    { name: 'the number instead of the text', params: { requestId: 7 } },
  ])('of $name changes nothing', verifies('gateway:legacy:cancel-shared-id'), async ({ params }) => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take });
    const [client, other] = [await connectLegacy(url), await connectLegacy(url)];
    const [mine, theirs] = [client.post(call('7')), other.post(call('theirs'))];
    await held.nth(2);
    expect((await client.post(notification('notifications/cancelled', params))).status).toBe(202);
    for (const turn of held.turns) turn.result(text('done'));
    expect((await mine).json()).toEqual(result('7', text('done')));
    expect((await theirs).json()).toEqual(result('theirs', text('done')));
    expect(backend.of('notifications/cancelled')).toHaveLength(0);
  });
});

describe('a thousand cancelled calls', verifies('gateway:legacy:cancel-no-leak'), () => {
  it('with an event log leave nothing behind', { timeout: 60_000 }, async () => {
    const COUNT = 1000;
    const AT_ONCE = 20;
    const limits = { ...streaming, inFlightPerSession: AT_ONCE };
    const kept = { eventsPerStream: 100, eventBytesPerStream: 1_000_000, eventBytesTotal: 100_000_000 };
    const events = new MemoryEventLog(kept);
    const open = new Set<string>();
    const { url, backend, gateway } = await behindLegacy(
      {
        'tools/call': (turn) => {
          const { name } = turn.message.params.arguments;
          open.add(name);
          void turn.closed.then(() => open.delete(name));
          turn.stream().event(log('running'));
        },
      },
      { limits, ports: { events } },
    );
    const client = await connectLegacy(url);
    for (let first = 0; first < COUNT; first += AT_ONCE) {
      const names = Array.from({ length: AT_ONCE }, (_, n) => `call-${first + n}`);
      await Promise.all(
        names.map(async (name) => {
          const stream = await client.stream(call(name, { name }));
          expect(stream.headers['content-type']).toBe('text/event-stream');
          await stream.message(({ method }) => method === 'notifications/message');
          await client.post(cancelled(name));
          await stream.ended;
        }),
      );
    }
    await backend.arrival('notifications/cancelled', COUNT);
    await until(() => open.size === 0, 'no response of the backend is held open');
    // What a client may still come back to.
    expect(events.size).toBeLessThanOrEqual(32);
    const full = Array.from({ length: AT_ONCE }, (_, n) => client.post(request(n, 'ping')));
    expect((await Promise.all(full)).map(({ status }) => status)).toEqual(Array(AT_ONCE).fill(200));
    await client.end();
    expect(events.size).toBe(0);
    // Waits for whatever still runs.
    await gateway.close(600_000);
  });
});
