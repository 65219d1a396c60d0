/**
 * More sessions than a backend may have streams: all of them hear of list changes, and of nothing that is another's.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enterLegacy, heard, openMarket } from '../catalog/setup.ts';
import { openShop, resource, tool } from '../catalog/shop.ts';
import { type OpenAnswer, until } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';
import type { TestGateway } from '../harness/gateway.ts';

const toolsChanged = 'notifications/tools/list_changed';
const updated = 'notifications/resources/updated';
const SESSIONS = 6;
const limits = { streamsPerBackend: 2 };

const logged = ({ log }: TestGateway) => log.filter(({ text }) => text.includes('limits.streamsPerBackend')).length;

describe('more sessions than streams', verifies('gateway:backend:streams-shared'), () => {
  it.each([
    { name: 'at its own endpoint', backend: 'b' },
    { name: 'at a merged endpoint', backend: undefined },
  ])('all get list changes of a legacy backend $name', async ({ backend }) => {
    const shop = await openShop('legacy', 'b', { tools: [tool('t')], resources: [resource('b://r')] });
    const other = await openShop('modern', 'other', { tools: [tool('t')] });
    const gateway = await openMarket([shop, other], { limits });
    const streams: OpenAnswer[] = [];
    for (let nth = 0; nth < SESSIONS; nth++) {
      const guest = await enterLegacy(gateway.url(backend));
      streams.push(await guest.listen({}));
      await guest.all('tools/list');
    }
    await until(() => shop.ears === limits.streamsPerBackend, 'as many streams as there may be stand');
    await until(() => (gateway.counters.snapshot()['backend.streams_full'] ?? 0) > 0, 'the limit was reached');
    await shop.changed('tools');
    for (const stream of streams) await stream.message(({ method }) => method === toolsChanged);
    expect(logged(gateway)).toBe(1);
  });

  it('an update of a resource reaches only the session in which it was sent', async () => {
    const shop = await openShop('legacy', 'b', { tools: [tool('t')], resources: [resource('b://r')] });
    const gateway = await openMarket([shop], { limits: { streamsPerBackend: 1 } });
    const [first, second] = [await enterLegacy(gateway.url('b')), await enterLegacy(gateway.url('b'))];
    const heardFirst = await first.listen({ resourceSubscriptions: ['b://r'] });
    const heardSecond = await second.listen({});
    await until(() => (gateway.counters.snapshot()['backend.streams_full'] ?? 0) > 0, 'the limit was reached');
    await shop.updated('b://r');
    // It comes on the same way: when it is heard, so is what was said before.
    await shop.changed('tools');
    for (const stream of [heardFirst, heardSecond]) await stream.message(({ method }) => method === toolsChanged);
    expect([heard(heardFirst, updated).length, heard(heardSecond, updated).length]).toEqual([1, 0]);
  });

  it('all get list changes of a modern backend, on one stream', async () => {
    const shop = await openShop('modern', 'b', { tools: [tool('t')] });
    const gateway = await openMarket([shop], { limits: { streamsPerBackend: 1 } });
    const streams: OpenAnswer[] = [];
    for (let nth = 0; nth < SESSIONS; nth++) {
      const client = await connectLegacy(gateway.url('b'));
      streams.push(await client.listen());
    }
    await shop.changed('tools');
    for (const stream of streams) await stream.message(({ method }) => method === toolsChanged);
    expect(shop.count('subscriptions/listen')).toBe(1);
    expect(logged(gateway)).toBe(0);
  });
});
