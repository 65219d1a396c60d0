/**
 * A modern client's one stream over many backends.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type OpenAnswer, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { enter, heard, openMarket } from './setup.ts';
import { kinds, openShop, prompt, resource, type Shop, tool } from './shop.ts';

const acknowledged = 'notifications/subscriptions/acknowledged';
const updated = 'notifications/resources/updated';
const changed = (kind: string) => `notifications/${kind}/list_changed`;

/** Longer than any test takes. */
const HOUR_MS = 3_600_000;

async function three(clock?: LeapClock, limits: Readonly<Record<string, number>> = {}) {
  const goods = (name: string) => ({
    tools: [tool('t')],
    prompts: [prompt('p')],
    resources: [resource(`${name}://r`)],
    ttlMs: 600_000,
  });
  const shops = [
    await openShop('modern', 'm', goods('m')),
    await openShop('legacy', 'l', goods('l')),
    await openShop('legacy', 'old', { ...goods('old'), revision: '2025-03-26' }),
  ];
  const gateway = await openMarket(shops, { limits, ...(clock && { ports: { clock } }) });
  return { shops, gateway, guest: await enter('modern', gateway.url()) };
}

/**
 * Nothing that was under way when this was called is under way any more: what was said before it was heard before it.
 */
async function settled(stream: OpenAnswer, shop: Shop, uri: string): Promise<void> {
  const before = heard(stream, updated).length;
  await shop.updated(uri);
  await until(() => heard(stream, updated).length > before, 'the stream has what was said before');
}

it(
  'one stream has the changes of all backends of both eras, and only requested ones',
  verifies('gateway:catalog:subscriptions'),
  async () => {
    const { shops, guest } = await three();
    const uris = ['m://r', 'l://r', 'old://r'];
    const stream = await guest.listen({ toolsListChanged: true, resourceSubscriptions: uris });
    const [ack] = heard(stream, acknowledged);
    expect(ack.params.notifications).toEqual({ toolsListChanged: true, resourceSubscriptions: uris });
    for (const [index, shop] of shops.entries()) {
      await shop.updated(uris[index] ?? '');
      await stream.message(({ method, params }) => method === updated && params.uri === uris[index]);
    }
    // Changes of each are told on their own: the others are quiet by then.
    for (const [index, shop] of shops.entries()) {
      await shop.changed('tools');
      await until(() => heard(stream, changed('tools')).length === index + 1, `${shop.name} is heard`);
    }
    const id = ack.params._meta['io.modelcontextprotocol/subscriptionId'];
    const all = stream.events.flatMap(({ data, json }) => (data ? [json()] : []));
    for (const { params } of all) expect(params._meta['io.modelcontextprotocol/subscriptionId']).toBe(id);
    expect(all.map(({ method }) => method).filter((method) => method === changed('prompts'))).toEqual([]);
  },
);

it('the acknowledgement names what is honoured', verifies('gateway:catalog:subscriptions'), async () => {
  const shops = [
    await openShop('modern', 'm', { resources: [resource('m://r')], capabilities: { resources: { subscribe: true } } }),
    await openShop('legacy', 'l', {
      resources: [resource('l://r'), resource('l://no')],
      capabilities: { resources: { subscribe: true } },
      script: {
        'resources/subscribe': (turn) => {
          if (turn.message.params.uri === 'l://no') turn.error(-32602, 'No');
          else turn.result({});
        },
      },
    }),
  ];
  const guest = await enter('modern', (await openMarket(shops)).url());
  const stream = await guest.listen({
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['m://r', 'l://no', 'l://r', 'nobody://r'],
  });
  expect(heard(stream, acknowledged)[0].params.notifications).toEqual({
    // Backends come and go, and the gateway tells of that itself. Tools and prompts nobody has.
    resourcesListChanged: true,
    resourceSubscriptions: ['m://r', 'l://r'],
  });
});

it.each(eras)(
  'a storm of changes of a %s backend is notified at its beginning and at its end',
  verifies('gateway:catalog:storms'),
  async (era) => {
    const clock = new LeapClock();
    const { shops, guest } = await three(clock, { changesMs: HOUR_MS });
    const shop = shops.find((one) => one.era === era) as Shop;
    const stream = await guest.listen({ toolsListChanged: true, promptsListChanged: true });
    const told = () => heard(stream, changed('tools')).length;
    for (const round of [1, 2]) {
      await shop.changed('tools', 100);
      // It comes on the same way: when it is heard, so is what was said before.
      await shop.changed('prompts');
      await until(() => heard(stream, changed('prompts')).length === round, 'all is heard');
      expect(told()).toBe(round * 2 - 1);
      clock.leap(HOUR_MS);
      await until(() => told() === round * 2, 'the end is told');
      clock.leap(HOUR_MS);
    }
  },
);

it(
  'two streams of one client each get the changes of their filter',
  verifies('gateway:catalog:subscriptions'),
  async () => {
    const { shops, guest } = await three();
    const [m, l] = shops as [Shop, Shop];
    const tools = await guest.listen({ toolsListChanged: true, resourceSubscriptions: ['m://r'] });
    const prompts = await guest.listen({ promptsListChanged: true, resourceSubscriptions: ['l://r'] });
    const both = await guest.listen({ toolsListChanged: true, promptsListChanged: true });
    for (const shop of [m, l]) for (const kind of kinds) await shop.changed(kind);
    await settled(tools, m, 'm://r');
    await settled(prompts, l, 'l://r');
    for (const stream of [tools, both]) await stream.message(({ method }) => method === changed('tools'));
    for (const stream of [prompts, both]) await stream.message(({ method }) => method === changed('prompts'));
    const methods = (stream: OpenAnswer) =>
      new Set(stream.events.flatMap(({ data, json }) => (data ? [json().method] : [])));
    expect(methods(tools)).toEqual(new Set([acknowledged, changed('tools'), updated]));
    expect(methods(prompts)).toEqual(new Set([acknowledged, changed('prompts'), updated]));
    expect(methods(both)).toEqual(new Set([acknowledged, changed('tools'), changed('prompts')]));
    expect(heard(tools, updated).map(({ params }) => params.uri)).toEqual(['m://r']);
  },
);

it(
  'a stream that its client closes is closed at every backend',
  verifies('gateway:catalog:subscriptions'),
  async () => {
    const { shops, guest } = await three();
    const [m, l] = shops as [Shop, Shop];
    await guest.all('resources/list');
    const before = m.ears;
    const stream = await guest.listen({ resourceSubscriptions: ['m://r', 'l://r'] });
    await until(() => m.subscribers('m://r') === 1 && l.subscribers('l://r') === 1, 'both are subscribed to');
    stream.close();
    await until(() => m.subscribers('m://r') === 0 && l.subscribers('l://r') === 0, 'nobody is subscribed any more');
    await until(() => m.ears === before, 'the stream upstream is closed');
  },
);

it(
  'the subscription of a backend that went down is renewed when it is back',
  verifies('gateway:catalog:backend-recovers'),
  async () => {
    const clock = new LeapClock();
    const { shops, guest, gateway } = await three(clock);
    const [m, l] = shops as [Shop, Shop];
    const stream = await guest.listen({ toolsListChanged: true, resourceSubscriptions: ['m://r', 'l://r'] });
    for (const shop of [m, l]) {
      const uri = `${shop.name}://r`;
      const state = () => gateway.assembled.backends.get(shop.name)?.state.state;
      await shop.backend.close();
      await guest.ask('tools/call', { name: `${shop.name}__t` });
      await until(() => {
        if (state() !== 'down') clock.leap(1000);
        return state() === 'down';
      }, `${shop.name} is down`);
      shop.forgetSessions();
      await shop.backend.reopen();
      await until(() => {
        if (shop.subscribers(uri) === 0) clock.leap(1000);
        return shop.subscribers(uri) > 0;
      }, `${uri} is subscribed to again`);
      await shop.updated(uri);
      await stream.message(({ method, params }) => method === updated && params.uri === uri);
      expect(heard(stream, updated).filter(({ params }) => params.uri === uri)).toHaveLength(1);
      // Whatever was told of its coming back is over; this is its own word.
      clock.leap(HOUR_MS);
      const before = heard(stream, changed('tools')).length;
      await shop.changed('tools');
      await until(() => heard(stream, changed('tools')).length > before, `a change at ${shop.name} is heard again`);
    }
  },
);
