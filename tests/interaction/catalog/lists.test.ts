/** The lists of many backends are one list: complete, once, in one order, byte for byte. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { enter, eventually, heard, namesOf, openMarket } from './setup.ts';
import { type ListMethod, openShop, tool } from './shop.ts';

const BACKENDS = 20;
const TOOLS = 200;
const PAGE = 50;

/** Spelled as no serializer would. */
const ware = (name: string) =>
  `{ "x-first":12345678901234567890, "name":"${name}","inputSchema":{"type":"object","minimum":1.0},` +
  `"icons":[{"src":"data:image/png;base64,AA==","sizes":["any"]}],"_meta":{"vendor/b":1.50,"vendor/a":"\\u00e9\\/"},"title":"T"}`;
const toolNames = Array.from({ length: TOOLS }, (_, index) => `t-${index}`);

describe.each(eras)('for a %s client', (era) => {
  it(
    'all 4,000 tools of 20 backends arrive, once, in the order of the config, as they were written',
    verifies('gateway:catalog:merge', 'gateway:catalog:pages', 'gateway:catalog:answers-cached'),
    async () => {
      const names = Array.from({ length: BACKENDS }, (_, index) => `backend-${BACKENDS - index}`);
      const tools = toolNames.map(ware);
      const goods = { tools, page: PAGE, ttlMs: 60_000, cacheScope: 'public' } as const;
      const shops = await Promise.all(
        names.map((name, index) => openShop(index % 2 === 0 ? 'modern' : 'legacy', name, goods)),
      );
      const gateway = await openMarket(shops, { limits: { listPageEntries: 1000 } });
      const guest = await enter(era, gateway.url());
      const expected = names.flatMap((name) => toolNames.map((one) => `${name}__${one}`));

      let cursor: string | undefined;
      let pages = 0;
      do {
        const answer = await guest.send('tools/list', cursor === undefined ? {} : { cursor });
        const inOrder = expected.slice(pages * 1000, (pages + 1) * 1000).map(ware);
        expect(answer.body.includes(`"tools":[${inOrder.join(',')}]`)).toBe(true);
        cursor = answer.json().result.nextCursor;
        pages += 1;
      } while (cursor !== undefined);
      expect(pages).toBe((BACKENDS * TOOLS) / 1000);
      const counts = () => shops.map((shop) => shop.count('tools/list'));
      expect(counts()).toEqual(shops.map(() => TOOLS / PAGE));

      // While they are fresh nobody is asked again.
      expect(namesOf(await guest.all('tools/list'))).toEqual(expected);
      expect(counts()).toEqual(shops.map(() => TOOLS / PAGE));
    },
  );

  it('prompts, resources and templates are merged as tools are', verifies('gateway:catalog:merge'), async () => {
    const odd = '"x-more":1.0,"_meta":{"k":12345678901234567890}';
    const shops = await Promise.all(
      eras.map((own) =>
        openShop(own, own, {
          prompts: [`{"name":"p-${own}",${odd}}`],
          resources: [`{"name":"r",${odd},"uri":"${own}://r"}`],
          templates: [`{"name":"t",${odd},"uriTemplate":"${own}://{x}"}`],
        }),
      ),
    );
    const gateway = await openMarket(shops);
    const guest = await enter(era, gateway.url());
    const expected: readonly { method: ListMethod; entries: readonly string[] }[] = [
      { method: 'prompts/list', entries: eras.map((own) => `{"name":"${own}__p-${own}",${odd}}`) },
      { method: 'resources/list', entries: eras.map((own) => `{"name":"r",${odd},"uri":"${own}://r"}`) },
      {
        method: 'resources/templates/list',
        entries: eras.map((own) => `{"name":"t",${odd},"uriTemplate":"${own}://{x}"}`),
      },
    ];
    for (const { method, entries } of expected) {
      expect((await guest.send(method)).body).toContain(`[${entries.join(',')}]`);
    }
  });

  it(
    'a duplicate or unusable entry of one backend does not affect others',
    verifies('gateway:catalog:merge'),
    async () => {
      const shops = [
        await openShop('modern', 'odd', { tools: [tool('a'), tool('a'), '{"title":"nameless"}', '7', tool('b')] }),
        await openShop('legacy', 'plain', { tools: [tool('a')] }),
      ];
      const guest = await enter(era, (await openMarket(shops)).url());
      expect(namesOf(await guest.all('tools/list'))).toEqual(['odd__a', 'odd__b', 'plain__a']);
    },
  );

  it(
    'fifty concurrent requests for a list cost one call to each backend',
    verifies('gateway:catalog:single-flight'),
    async () => {
      const held: (() => void)[] = [];
      const shops = await Promise.all(
        eras.map(async (own) => {
          const shop = await openShop(own, own, {
            script: {
              'tools/list': (turn) => {
                const hints = own === 'modern' ? { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' } : {};
                held.push(() => turn.result({ tools: [tool('a')], ...hints }));
              },
            },
          });
          return shop;
        }),
      );
      // Each answer is a stream from the beginning: one that is open is known to be waiting.
      const gateway = await openMarket(shops, { limits: { sseAfterMs: 0 } });
      const guest = await enter(era, gateway.url());
      const waiting = await Promise.all(Array.from({ length: 50 }, () => guest.begin('tools/list')));
      await until(() => held.length === 2, 'both backends are asked');
      for (const answer of held) answer();
      for (const stream of waiting) {
        const { result } = await stream.message(({ id }) => id !== undefined);
        expect(namesOf(result.tools)).toEqual(['legacy__a', 'modern__a']);
      }
      expect(shops.map((shop) => shop.count('tools/list'))).toEqual([1, 1]);
    },
  );

  it.each(eras)(
    'a change of a %s backend is noticed also if the client has no subscription',
    verifies('gateway:catalog:answers-cached'),
    async (own) => {
      const changing = await openShop(own, 'changing', { tools: [tool('old')], ttlMs: 600_000 });
      const other = await openShop('modern', 'other', { tools: [tool('a')], ttlMs: 600_000 });
      const guest = await enter(era, (await openMarket([changing, other])).url());
      await guest.all('tools/list');
      changing.goods.tools = [tool('new')];
      await changing.changed('tools');
      await eventually(async () => (await guest.all('tools/list'))[0].name === 'changing__new');
      expect({ changing: changing.count('tools/list'), other: other.count('tools/list') }).toEqual({
        changing: 2,
        other: 1,
      });
    },
  );

  it.each(eras)(
    'a change of a %s backend invalidates its cached list',
    verifies('gateway:catalog:answers-cached'),
    async (own) => {
      const changing = await openShop(own, 'changing', { tools: [tool('old')], ttlMs: 600_000 });
      const other = await openShop('modern', 'other', { tools: [tool('a')], ttlMs: 600_000 });
      const guest = await enter(era, (await openMarket([changing, other])).url());
      expect(namesOf(await guest.all('tools/list'))).toEqual(['changing__old', 'other__a']);
      const stream = await guest.listen({ toolsListChanged: true });
      changing.goods.tools = [tool('new')];
      await changing.changed('tools');
      await stream.message(({ method }) => method === 'notifications/tools/list_changed');
      expect(namesOf(await guest.all('tools/list'))).toEqual(['changing__new', 'other__a']);
      expect({ changing: changing.count('tools/list'), other: other.count('tools/list') }).toEqual({
        changing: 2,
        other: 1,
      });
      expect(heard(stream, 'notifications/tools/list_changed')).toHaveLength(1);
    },
  );
});
