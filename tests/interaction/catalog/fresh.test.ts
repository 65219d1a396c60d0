/**
 * How long a list is kept, and what clients are told of that.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { everyCapability } from '../harness/http-backend.ts';
import { enter, openMarket } from './setup.ts';
import { type Goods, openShop, type Shop, tool } from './shop.ts';

const silentTools = { ...everyCapability, tools: {} };
const second = 1000;
const minute = 60 * second;

const lifetimes: readonly {
  readonly name: string;
  readonly backend: 'legacy' | 'modern';
  readonly goods: Goods;
  readonly goodMs: number;
}[] = [
  { name: 'ttlMs of a public list', backend: 'modern', goods: { ttlMs: minute, cacheScope: 'public' }, goodMs: minute },
  { name: 'ttlMs of a private list', backend: 'modern', goods: { ttlMs: minute }, goodMs: minute },
  { name: 'a legacy backend that notifies of changes', backend: 'legacy', goods: {}, goodMs: 5 * minute },
  {
    name: 'a legacy backend that does not',
    backend: 'legacy',
    goods: { capabilities: silentTools },
    goodMs: 5 * second,
  },
];

async function pair(goods: Goods, backend: 'legacy' | 'modern', ports: { clock: LeapClock }) {
  const one = await openShop(backend, 'one', { tools: [tool('a')], ...goods });
  const other = await openShop('modern', 'other', { tools: [tool('b')], ttlMs: 60 * minute, cacheScope: 'public' });
  return { one, other, gateway: await openMarket([one, other], { ports }) };
}

describe.each(eras)('a list that a %s client gets', (era) => {
  it.each(lifetimes)(
    'is cached as long as allowed: $name',
    verifies('gateway:catalog:answers-cached'),
    async ({ backend, goods, goodMs }) => {
      const clock = new LeapClock();
      const { one, other, gateway } = await pair(goods, backend, { clock });
      const guest = await enter(era, gateway.url());
      const counts = async () => {
        await guest.all('tools/list');
        return [one.count('tools/list'), other.count('tools/list')];
      };
      expect(await counts()).toEqual([1, 1]);
      expect(await counts()).toEqual([1, 1]);
      clock.leap(goodMs - second);
      expect(await counts()).toEqual([1, 1]);
      clock.leap(second);
      expect(await counts()).toEqual([2, 1]);
    },
  );

  it('is read each time if its backend sets a lifetime of 0', verifies('gateway:catalog:answers-cached'), async () => {
    const { one, gateway } = await pair({ ttlMs: 0 }, 'modern', { clock: new LeapClock() });
    const guest = await enter(era, gateway.url());
    for (const count of [1, 2, 3]) {
      await guest.all('tools/list');
      expect(one.count('tools/list')).toBe(count);
    }
  });
});

it(
  'a public list of a modern backend is read once for both eras',
  verifies('gateway:catalog:answers-cached'),
  async () => {
    const shops = await Promise.all(
      ['a', 'b'].map((name) => openShop('modern', name, { tools: [tool('t')], ttlMs: minute, cacheScope: 'public' })),
    );
    const { url } = await openMarket(shops);
    for (const era of eras) await (await enter(era, url())).all('tools/list');
    expect(shops.map((shop) => shop.count('tools/list'))).toEqual([1, 1]);
  },
);

it('the list of one legacy session is not shown in another', verifies('gateway:catalog:answers-cached'), async () => {
  const shops = await Promise.all(['a', 'b'].map((name) => openShop('legacy', name, { tools: [tool('t')] })));
  const { url } = await openMarket(shops);
  for (const count of [1, 2]) {
    const guest = await enter('legacy', url());
    await guest.all('tools/list');
    await guest.all('tools/list');
    expect(shops.map((shop) => shop.count('tools/list'))).toEqual([count, count]);
  }
});

describe('the cache hints for a modern client', () => {
  const told: readonly { name: string; shops: () => Promise<Shop>[]; ttlMs: number; cacheScope: string }[] = [
    {
      name: 'the smallest lifetime, and public where all is',
      shops: () => [publicly('a', 20 * minute), publicly('b', 10 * minute)],
      ttlMs: 10 * minute,
      cacheScope: 'public',
    },
    {
      name: 'private where any part is',
      shops: () => [publicly('a', minute), openShop('modern', 'b', { ttlMs: 2 * minute })],
      ttlMs: minute,
      cacheScope: 'private',
    },
    {
      name: 'no lifetime if a part comes from a backend that gives none',
      shops: () => [publicly('a', minute), openShop('legacy', 'b')],
      ttlMs: 0,
      cacheScope: 'private',
    },
  ];
  const publicly = (name: string, ttlMs: number) =>
    openShop('modern', name, { tools: [tool('t'), tool('u'), tool('v')], ttlMs, cacheScope: 'public' });

  it.each(told)('$name', verifies('gateway:catalog:merged-hints'), async ({ shops, ttlMs, cacheScope }) => {
    const clock = new LeapClock();
    const gateway = await openMarket(await Promise.all(shops()), { limits: { listPageEntries: 2 }, ports: { clock } });
    const guest = await enter('modern', gateway.url());
    const pages = await guest.pages('tools/list');
    expect(pages.length).toBeGreaterThan(1);
    // It is some milliseconds old by now, and told in steps.
    for (const page of pages) {
      expect(page).toMatchObject({ resultType: 'complete', cacheScope });
      expect(page.ttlMs).toBeLessThanOrEqual(ttlMs);
      expect(page.ttlMs).toBeGreaterThanOrEqual(ttlMs * 0.8);
    }
    if (ttlMs === 0) return;
    clock.leap(ttlMs / 2);
    const [half] = await guest.pages('tools/list');
    expect(half.ttlMs).toBeLessThanOrEqual(ttlMs / 2);
    expect(half.ttlMs).toBeGreaterThanOrEqual(ttlMs * 0.3);
  });

  it('a legacy client gets no cache hints', verifies('gateway:catalog:merged-hints'), async () => {
    const gateway = await openMarket([await publicly('a', minute), await publicly('b', minute)]);
    const [page] = await (await enter('legacy', gateway.url())).pages('tools/list');
    expect(Object.keys(page)).toEqual(['tools']);
  });
});
