/**
 * Subscriptions of modern clients at a modern backend.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Behind, behindModern, Held } from '../harness/behind.ts';
import { type Json, type OpenAnswer, open } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern } from '../harness/eras.ts';

const subscriptionId = 'io.modelcontextprotocol/subscriptionId';
const tagged = (id: unknown) => ({ _meta: { [subscriptionId]: id } });
const notification = (method: string, params: object) => ({ jsonrpc: '2.0', method, params });
const acknowledged = (id: unknown, notifications: object) =>
  notification('notifications/subscriptions/acknowledged', { ...tagged(id), notifications });
const changed = (list: string, id: unknown) => notification(`notifications/${list}/list_changed`, tagged(id));
const updated = (uri: string, id: unknown) => notification('notifications/resources/updated', { ...tagged(id), uri });

const everything = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['a://b'],
};

function listen({ url }: Behind, id: string | number, notifications: object): Promise<OpenAnswer> {
  return open(url, modern({ id, method: 'subscriptions/listen', params: { notifications } }));
}

const messages = (stream: OpenAnswer): readonly Json[] => stream.events.map((event) => event.json());

/** The last of what a test says: everything before it has arrived when it has. */
const last = (stream: OpenAnswer) => stream.message(({ method }) => method === 'notifications/prompts/list_changed');

describe('the acknowledgement of a subscription', verifies('gateway:modern:listen-ack-first'), () => {
  it('is passed on when it arrives, with what the backend honours', async () => {
    const held = new Held();
    const behind = await behindModern({ 'subscriptions/listen': held.take });
    const stream = await listen(behind, 's', everything);
    expect(stream.status).toBe(200);
    expect(stream.headers['content-type']).toBe('text/event-stream');
    const turn = await held.nth(1);
    expect(turn.message.params.notifications).toEqual(everything);
    turn.stream().event(acknowledged(turn.message.id, { toolsListChanged: true }));
    expect((await stream.event(() => true)).json()).toEqual(acknowledged('s', { toolsListChanged: true }));
    expect(stream.over).toBe(false);
  });

  it('is the first message, whatever the backend sends before it', async () => {
    const held = new Held();
    const behind = await behindModern({ 'subscriptions/listen': held.take });
    const stream = await listen(behind, 's', everything);
    const turn = await held.nth(1);
    const { id } = turn.message;
    turn.stream().event(changed('tools', id)).event(acknowledged(id, everything)).event(changed('prompts', id));
    await last(stream);
    expect(messages(stream)).toEqual([acknowledged('s', everything), changed('prompts', 's')]);
  });
});

describe('the messages of a subscription', () => {
  const ids = ['0', 0, 'é"\\', 12345, -7];

  it(
    'carry the id of its client, and not the one that is used upstream',
    verifies('gateway:modern:listen-own-id'),
    async () => {
      const held = new Held();
      const behind = await behindModern({ 'subscriptions/listen': held.take });
      const streams: OpenAnswer[] = [];
      for (const [index, id] of ids.entries()) {
        streams.push(await listen(behind, id, everything));
        const turn = await held.nth(index + 1);
        const upstream = turn.message.id;
        turn.stream().event(acknowledged(upstream, everything)).event(updated('a://b', upstream));
        turn.event(changed('prompts', upstream));
        turn.event({ jsonrpc: '2.0', id: upstream, result: { resultType: 'complete', ...tagged(upstream) } }).end();
      }
      expect(new Set(held.turns.map(({ message }) => message.id)).size).toBe(ids.length);
      for (const [index, id] of ids.entries()) {
        const stream = streams[index] as OpenAnswer;
        await stream.ended;
        expect(messages(stream)).toEqual([
          acknowledged(id, everything),
          updated('a://b', id),
          changed('prompts', id),
          { jsonrpc: '2.0', id, result: { resultType: 'complete', ...tagged(id) } },
        ]);
      }
    },
  );

  it(
    'carry it though the backend forgot it, and keep their other members',
    verifies('gateway:modern:listen-own-id'),
    async () => {
      const held = new Held();
      const behind = await behindModern({ 'subscriptions/listen': held.take });
      const stream = await listen(behind, 's', everything);
      const turn = await held.nth(1);
      turn.stream().event(notification('notifications/subscriptions/acknowledged', { notifications: {} }));
      turn.event(notification('notifications/tools/list_changed', { _meta: { traceparent: '00-1' } }));
      turn.event({ jsonrpc: '2.0', method: 'notifications/prompts/list_changed' });
      await last(stream);
      expect(messages(stream)).toEqual([
        acknowledged('s', {}),
        notification('notifications/tools/list_changed', { _meta: { traceparent: '00-1', [subscriptionId]: 's' } }),
        changed('prompts', 's'),
      ]);
    },
  );

  const filters = [
    { filter: { toolsListChanged: true }, holds: ['tools'] },
    { filter: { resourcesListChanged: true }, holds: ['resources'] },
    { filter: { resourceSubscriptions: ['a://b'] }, holds: ['a://b'] },
    {
      filter: { toolsListChanged: false, resourceSubscriptions: [], resourcesListChanged: true },
      holds: ['resources'],
    },
    {
      filter: { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ['a://b'] },
      holds: ['tools', 'resources', 'a://b'],
    },
    { filter: {}, holds: [] },
  ];
  it(
    'are the requested ones, and one change reaches every subscriber',
    verifies('gateway:modern:listen-filter'),
    async () => {
      const held = new Held();
      const behind = await behindModern({ 'subscriptions/listen': held.take });
      const streams: OpenAnswer[] = [];
      for (const [index, { filter }] of filters.entries()) {
        streams.push(await listen(behind, index, { ...filter, promptsListChanged: true }));
        const turn = await held.nth(index + 1);
        expect(turn.message.params.notifications).toEqual({ ...filter, promptsListChanged: true });
        turn.stream().event(acknowledged(turn.message.id, filter));
      }
      // A backend that does not look at filters, and mixes in what belongs to requests.
      for (const turn of held.turns) {
        const { id } = turn.message;
        turn.event(changed('tools', id)).event(changed('resources', id)).event(updated('a://b', id));
        turn.event(notification('notifications/message', { ...tagged(id), level: 'error', data: 'x' }));
        turn.event(notification('notifications/progress', { ...tagged(id), progressToken: id, progress: 1 }));
        turn.event(changed('prompts', id));
      }
      for (const [index, { filter, holds }] of filters.entries()) {
        const stream = streams[index] as OpenAnswer;
        await last(stream);
        expect(messages(stream)).toEqual([
          acknowledged(index, filter),
          ...holds.map((what) => (what.includes(':') ? updated(what, index) : changed(what, index))),
          changed('prompts', index),
        ]);
      }
    },
  );
});

describe('a subscription', () => {
  const listening = async (held: Held, behind: Behind, id: string | number, nth: number): Promise<OpenAnswer> => {
    const stream = await listen(behind, id, everything);
    const turn = await held.nth(nth);
    turn.stream().event(acknowledged(turn.message.id, everything));
    await stream.event(() => true);
    return stream;
  };

  it(
    'that the gateway ends gets its result, and then its end',
    verifies('gateway:modern:listen-shutdown'),
    async () => {
      const held = new Held();
      const behind = await behindModern({ 'subscriptions/listen': held.take });
      const streams = [await listening(held, behind, 'one', 1), await listening(held, behind, 2, 2)];
      await behind.gateway.close(0);
      for (const [index, id] of ['one', 2].entries()) {
        const stream = streams[index] as OpenAnswer;
        await stream.ended;
        expect(messages(stream)).toEqual([
          acknowledged(id, everything),
          { jsonrpc: '2.0', id, result: { resultType: 'complete', ...tagged(id) } },
        ]);
        // And not by accident: the answer is complete as HTTP sees it.
        expect(stream.complete).toBe(true);
      }
      await Promise.all(held.turns.map((turn) => turn.closed));
    },
  );

  it('has no time limit', verifies('gateway:modern:listen-unlimited'), async () => {
    const held = new Held();
    const calls = new Held();
    const clock = new LeapClock();
    const behind = await behindModern(
      { 'subscriptions/listen': held.take, 'tools/call': calls.take },
      { ports: { clock } },
    );
    const stream = await listening(held, behind, 's', 1);
    const call = open(behind.url, modern({ id: 'c', method: 'tools/call', params: { name: 't' } }));
    await calls.nth(1);
    clock.leap(2 * 60 * 60 * 1000);
    // The time has passed, as a call can tell.
    const timedOut = await call;
    await timedOut.ended;
    expect(timedOut.text()).toContain('backend_timeout');
    const [turn] = held.turns;
    turn?.event(changed('prompts', turn.message.id));
    await last(stream);
    expect(messages(stream)).toEqual([acknowledged('s', everything), changed('prompts', 's')]);
  });
});
