/** What `tools/list` has where the endpoint has a budget. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, namesOf, openMarket } from '../catalog/setup.ts';
import { openShop, tool } from '../catalog/shop.ts';
import { eras } from '../harness/eras.ts';
import { bulky, catalog, isStub, openBudgeted } from './setup.ts';

describe.each(eras)('for a %s client', (era) => {
  it.each([
    { where: 'a merged endpoint', merged: true },
    { where: 'an endpoint of one backend', merged: false },
  ])(
    '$where lists whole entries first, and marked stubs of the rest',
    verifies('gateway:budget:list', 'gateway:budget:stub'),
    async ({ merged }) => {
      const { gateway } = await openBudgeted(era, { merged, tokens: merged ? 500 : 400 });
      const tools = await (await enter(era, gateway.url())).all('tools/list');
      const prefix = merged ? 'office__' : '';
      const sorted = ['archive_ticket', 'delete_invoice', 'send_letter', 'weigh_parcel'].map((name) => prefix + name);
      expect(namesOf(tools)).toEqual(['find_tools', ...sorted, ...(merged ? ['annex__paint_wall'] : [])]);
      expect(tools[0]).toMatchObject({ _meta: { 'bascule/finder': true } });
      const [, first, ...rest] = tools;
      expect(first).toEqual({ ...catalog[1], name: `${prefix}archive_ticket` });
      expect(isStub(rest.at(-1))).toBe(true);
      expect(rest.find(({ name }) => name === `${prefix}weigh_parcel`)).toEqual({
        name: `${prefix}weigh_parcel`,
        description: 'Weighs a parcel.',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
        _meta: { 'bascule/stub': true },
      });
    },
  );

  it('a list within the budget is whole, and has no search', verifies('gateway:budget:list'), async () => {
    const { gateway } = await openBudgeted(era, { tokens: 100_000 });
    const tools = await (await enter(era, gateway.url())).all('tools/list');
    expect(tools).toHaveLength(5);
    expect(tools.some(isStub)).toBe(false);
  });

  it('pages hold every tool once', verifies('gateway:budget:list'), async () => {
    const shop = await openShop(era, 'office', { tools: catalog });
    const more = await openShop(era, 'annex', { tools: [tool('one'), tool('two')] });
    const endpoint = { budget: { tokens: 300 } };
    const gateway = await openMarket([shop, more], { endpoint, limits: { listPageEntries: 2 } });
    const guest = await enter(era, gateway.url());
    const pages = await guest.pages('tools/list');
    expect(pages.map(({ tools }) => tools.length)).toEqual([2, 2, 2, 1]);
    expect(new Set(pages.flatMap(({ tools }) => namesOf(tools))).size).toBe(7);
  });

  it('a change of the backend is in the next list', verifies('gateway:budget:list'), async () => {
    const { gateway, shops } = await openBudgeted(era, { merged: false });
    const guest = await enter(era, gateway.url());
    expect(await guest.all('tools/list')).toHaveLength(5);
    const stream = await guest.listen({ toolsListChanged: true });
    const [shop] = shops;
    if (shop !== undefined) shop.goods.tools = [bulky('fly_kite', 'Flies a kite'), ...catalog];
    await shop?.changed('tools');
    await stream.message(({ method }) => method === 'notifications/tools/list_changed');
    expect(namesOf(await guest.all('tools/list'))).toContain('fly_kite');
  });
});

it('a stub keeps the properties that clients mirror in headers', verifies('gateway:budget:stub'), async () => {
  const region = { type: 'string', description: 'Where. '.repeat(50), 'x-mcp-header': 'Region' };
  const mirrored = bulky('list_sites', 'Lists sites', {
    inputSchema: {
      type: 'object',
      properties: { at: { type: 'object', properties: { region } }, id: { type: 'integer' } },
    },
  });
  const { gateway } = await openBudgeted('modern', {
    merged: false,
    tokens: 1,
    goods: { tools: [mirrored, ...catalog] },
  });
  const guest = await enter('modern', gateway.url());
  const stub = (await guest.all('tools/list')).find(({ name }) => name === 'list_sites');
  expect(stub.inputSchema).toEqual({
    type: 'object',
    properties: { at: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } } },
  });
  const params = { name: 'list_sites', arguments: { at: { region: 'eu' } } };
  const headers = { 'mcp-name': 'list_sites' };
  expect((await guest.ask('tools/call', params, headers)).error).toMatchObject({ code: -32020 });
  const called = await guest.ask('tools/call', params, { ...headers, 'mcp-param-region': 'eu' });
  expect(called.result.isError).toBeUndefined();
});

it('a huge entry has a small stub', verifies('gateway:budget:stub'), async () => {
  const huge = bulky('do_all', 'x'.repeat(300_000), {
    annotations: { title: 'y'.repeat(50_000), readOnlyHint: true, other: 'z'.repeat(50_000) },
    _meta: { note: 'w'.repeat(50_000), ui: { resourceUri: 'ui://office/view' } },
  });
  const { gateway } = await openBudgeted('modern', { merged: false, goods: { tools: [huge] } });
  const tools = await (await enter('modern', gateway.url())).all('tools/list');
  const stub = tools.find(({ name }) => name === 'do_all');
  expect(JSON.stringify(stub).length).toBeLessThan(600);
  expect(stub._meta).toEqual({ ui: { resourceUri: 'ui://office/view' }, 'bascule/stub': true });
});

describe('a backend with a tool called find_tools', () => {
  const goods = { tools: [bulky('find_tools', 'Finds screwdrivers'), ...catalog] };

  it.each(['collision', 'always'])(
    'has it under its prefix with names: %s',
    verifies('gateway:budget:reserved-name'),
    async (names) => {
      const { gateway, shops } = await openBudgeted('modern', { goods, endpoint: { names } });
      const guest = await enter('modern', gateway.url());
      const listed = namesOf(await guest.all('tools/list'));
      expect(listed.filter((name) => name === 'find_tools')).toHaveLength(1);
      expect(listed).toContain('office__find_tools');
      await guest.ask('tools/call', { name: 'office__find_tools', arguments: { id: 1 } });
      expect(shops[0]?.backend.of('tools/call').at(-1)?.message.params.name).toBe('find_tools');
    },
  );

  it.each([
    { how: 'with names: never', merged: true },
    { how: 'at an endpoint of one backend', merged: false },
  ])('is left out and reported $how', verifies('gateway:budget:reserved-name'), async ({ merged }) => {
    const { gateway, shops } = await openBudgeted('modern', { merged, goods, endpoint: { names: 'never' } });
    const guest = await enter('modern', gateway.url());
    const [page] = await guest.pages('tools/list');
    expect(page._meta['bascule/collisions']).toEqual([{ name: 'find_tools', backends: ['office'] }]);
    expect(page.tools[0]._meta).toEqual({ 'bascule/finder': true });
    await guest.ask('tools/call', { name: 'find_tools', arguments: { query: 'screwdriver' } });
    expect(shops[0]?.backend.of('tools/call')).toEqual([]);
  });
});
