/**
 * Pages towards clients are ours, whatever pages the backends have.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { eras } from '../harness/eras.ts';
import { enter, namesOf, openMarket } from './setup.ts';
import { openShop, prompt, tool } from './shop.ts';

const five = ['a', 'b', 'c', 'd', 'e'];

async function setting() {
  const goods = { tools: five.map((name) => tool(name)), prompts: five.map((name) => prompt(name)), page: 2 };
  const shops = [await openShop('modern', 'm', { ...goods, ttlMs: 60_000 }), await openShop('legacy', 'l', goods)];
  const gateway = await openMarket(shops, {
    limits: { listPageEntries: 3 },
    endpoints: [{ path: '/mcp' }, { path: '/other' }],
  });
  return { shops, gateway };
}

describe.each(eras)('for a %s client', (era) => {
  it(
    'pages have as many entries as the limit says, and none is lost between two',
    verifies('gateway:catalog:pages'),
    async () => {
      const { gateway } = await setting();
      const guest = await enter(era, gateway.url());
      const pages = await guest.pages('tools/list');
      expect(pages.map(({ tools }) => tools.length)).toEqual([3, 3, 3, 1]);
      const all = ['m', 'l'].flatMap((shop) => five.map((name) => `${shop}__${name}`));
      expect(namesOf(pages.flatMap(({ tools }) => tools))).toEqual(all);
      expect(pages.map((page) => 'nextCursor' in page)).toEqual([true, true, true, false]);
    },
  );

  it('a page ends where it would be larger than the limit', verifies('gateway:catalog:pages'), async () => {
    const large = 'x'.repeat(700);
    const tools = five.map((name) => tool(name, { description: large }));
    const shops = [await openShop('modern', 'm', { tools }), await openShop('legacy', 'l', { tools })];
    const gateway = await openMarket(shops, { limits: { listPageBytes: 2048 } });
    const pages = await (await enter(era, gateway.url())).pages('tools/list');
    expect(pages.map((page) => page.tools.length)).toEqual([2, 2, 2, 2, 2]);
  });

  it('the empty string is a cursor like any other of a backend', verifies('gateway:catalog:pages'), async () => {
    const goods = { tools: five.map((name) => tool(name)), page: 2, cursors: ['', 'next'] };
    const shops = [await openShop('modern', 'm', goods), await openShop('legacy', 'l', goods)];
    const guest = await enter(era, (await openMarket(shops)).url());
    expect(await guest.all('tools/list')).toHaveLength(10);
    for (const { backend } of shops) {
      const cursors = backend.of('tools/list').map(({ message }) => message.params?.cursor);
      expect(cursors).toEqual([undefined, '', 'next']);
    }
  });

  const tampered = (cursor: string) => cursor.slice(0, -6) + (cursor.at(-6) === 'A' ? 'B' : 'A') + cursor.slice(-5);
  const refused: readonly { name: string; cursor: (own: string, others: Others) => unknown }[] = [
    { name: 'a backend’s own', cursor: () => '2' },
    { name: 'the empty string', cursor: () => '' },
    { name: 'one that was changed', cursor: tampered },
    { name: 'half of one', cursor: (own) => own.slice(0, own.length / 2) },
    { name: 'one of another list', cursor: (_, { list }) => list },
    { name: 'one of another endpoint', cursor: (_, { endpoint }) => endpoint },
    { name: 'no string', cursor: () => 3 },
  ];
  interface Others {
    readonly list: string;
    readonly endpoint: string;
  }

  it.each(refused)(
    'a cursor that we did not give for this is refused: $name',
    verifies('gateway:catalog:cursors'),
    async ({ cursor }) => {
      const { gateway, shops } = await setting();
      const guest = await enter(era, gateway.url());
      const first = async (url: string, method: string) =>
        (await (await enter(era, url)).ask(method)).result.nextCursor as string;
      const { result } = await guest.ask('tools/list');
      const others = {
        list: (await guest.ask('prompts/list')).result.nextCursor as string,
        endpoint: await first(`${gateway.origin}/other`, 'tools/list'),
      };
      const calls = () => shops.map((shop) => shop.backend.received.length);
      const before = calls();
      const answer = await guest.ask('tools/list', { cursor: cursor(result.nextCursor, others) });
      expect(answer.error).toMatchObject({ code: -32602, data: { reason: 'invalid_cursor' } });
      expect(calls()).toEqual(before);
    },
  );

  it(
    'a client that pages through a list gets the list as it began, though it changes meanwhile',
    verifies('gateway:catalog:cursors'),
    async () => {
      const shops = [
        await openShop('modern', 'm', { tools: five.map((name) => tool(name)) }),
        await openShop('modern', 'n', { tools: [] }),
      ];
      const gateway = await openMarket(shops, { limits: { listPageEntries: 3 } });
      const guest = await enter(era, gateway.url());
      const { result } = await guest.ask('tools/list');
      shops[0]!.goods.tools = [tool('new')];
      expect(namesOf(await guest.all('tools/list'))).toEqual(['m__new']);
      const rest = await guest.ask('tools/list', { cursor: result.nextCursor });
      expect(namesOf(rest.result.tools)).toEqual(['m__d', 'm__e']);
    },
  );

  it('a cursor of a list that is long forgotten is refused', verifies('gateway:catalog:cursors'), async () => {
    const shop = await openShop('modern', 'm', { tools: five.map((name) => tool(name)) });
    const gateway = await openMarket([shop, await openShop('modern', 'n')], { limits: { listPageEntries: 3 } });
    const guest = await enter(era, gateway.url());
    const { result } = await guest.ask('tools/list');
    // As many other lists as are kept, and more.
    for (let n = 0; n < 70; n++) {
      shop.goods.tools = [tool(`new-${n}`)];
      await guest.ask('tools/list');
    }
    const { error } = await guest.ask('tools/list', { cursor: result.nextCursor });
    expect(error).toMatchObject({ code: -32602, data: { reason: 'invalid_cursor' } });
  });
});

describe('equal lists of different readers', verifies('gateway:catalog:pages'), () => {
  it('are paged by each of them to the end', async () => {
    const { gateway } = await setting();
    const readers = [
      await enter('legacy', gateway.url()),
      await enter('legacy', gateway.url()),
      await enter('modern', gateway.url()),
      await enter('modern', `${gateway.origin}/other`),
    ];
    for (const reader of readers) expect(await reader.all('tools/list')).toHaveLength(10);
  });
});
