/** The gateway's own tool that finds tools. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, type Guest, namesOf } from '../catalog/setup.ts';
import { type Json, send } from '../harness/client.ts';
import { eras, modern } from '../harness/eras.ts';
import { openHouse, paths } from '../policy/setup.ts';
import { bulky, catalog, openBudgeted } from './setup.ts';

async function find(guest: Guest, args: Json): Promise<Json> {
  return (await guest.ask('tools/call', { name: 'find_tools', arguments: args })).result;
}

describe.each(eras)('for a %s client', (era) => {
  it.each([true, false])(
    'whole entries are found by what they do (merged: %s)',
    verifies('gateway:budget:find'),
    async (merged) => {
      const { gateway, shops } = await openBudgeted(era, { merged });
      const guest = await enter(era, gateway.url());
      const { structuredContent, content } = await find(guest, { query: 'remove an invoice' });
      const name = merged ? 'office__delete_invoice' : 'delete_invoice';
      expect(structuredContent.tools[0]).toEqual({ ...catalog[0], name });
      expect(JSON.parse(content[0].text)).toEqual(structuredContent);
      expect(shops.flatMap(({ backend }) => backend.of('tools/call'))).toEqual([]);
    },
  );

  it('an exact name comes first, however it is spelled', verifies('gateway:budget:find'), async () => {
    const { gateway } = await openBudgeted(era);
    const guest = await enter(era, gateway.url());
    for (const query of ['weigh_parcel', 'OFFICE__WEIGH_PARCEL', 'an invoice? no: weigh_parcel!'.replace('!', '')]) {
      const { structuredContent } = await find(guest, { query });
      expect(namesOf(structuredContent.tools)[0]).toBe('office__weigh_parcel');
    }
  });

  it('nothing comes where nothing fits', verifies('gateway:budget:find'), async () => {
    const { gateway } = await openBudgeted(era);
    const { structuredContent, isError } = await find(await enter(era, gateway.url()), { query: 'tune my guitar' });
    expect(structuredContent).toEqual({ tools: [] });
    expect(isError).toBeUndefined();
  });

  it.each([
    { what: 'no arguments', args: undefined },
    { what: 'no query', args: {} },
    { what: 'a query of a megabyte', args: { query: 'a '.repeat(500_000) } },
    { what: 'a limit out of bounds', args: { query: 'x', limit: 1_000 } },
  ])('$what is a tool error', verifies('gateway:budget:find-bounds'), async ({ args }) => {
    const { gateway } = await openBudgeted(era);
    expect((await find(await enter(era, gateway.url()), args)).isError).toBe(true);
  });
});

it('a query of control characters finds nothing', verifies('gateway:budget:find-bounds'), async () => {
  const { gateway } = await openBudgeted('modern');
  const guest = await enter('modern', gateway.url());
  const query = Array.from({ length: 900 }, (_, at) => String.fromCharCode(at % 32)).join('');
  expect((await find(guest, { query })).structuredContent).toEqual({ tools: [] });
});

it('an answer is bounded, and says what it leaves out', verifies('gateway:budget:find-bounds'), async () => {
  const properties = { id: { type: 'string', description: 'x'.repeat(100_000) } };
  const goods = { tools: [bulky('mend_roof', 'Mends a roof', { inputSchema: { type: 'object', properties } })] };
  const { gateway } = await openBudgeted('modern', { merged: false, goods });
  const { content, structuredContent } = await find(await enter('modern', gateway.url()), { query: 'roof' });
  expect(structuredContent.tools[0]).toMatchObject({ name: 'mend_roof', inputSchema: { type: 'object' } });
  expect(JSON.stringify(content).length).toBeLessThan(5_000);
  expect(content[1].text).toContain('too large');
});

describe('with rules', () => {
  const tools = [bulky('read_file', 'Reads a file'), bulky('delete_file', 'Deletes a file')];
  const open = (rules: readonly object[]) =>
    openHouse({
      endpoint: { budget: { tokens: 1 } },
      script: {
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' }),
      },
      more: { policy: { rules } },
    });
  const readers = { id: 'r', effect: 'allow', what: ['call'], on: { tools: ['*read_file'] } };
  const ask = async (origin: string, path: string, query: string) =>
    send(
      `${origin}${path}`,
      modern({ id: 1, method: 'tools/call', params: { name: 'find_tools', arguments: { query } } }),
    );

  it.each(Object.entries(paths))(
    'a hidden tool is not found at the %s endpoint',
    verifies('gateway:budget:find-policy'),
    async (where, path) => {
      const house = await open([readers]);
      for (const query of ['delete file', 'delete_file', 'a__delete_file', 'file']) {
        const answer = await ask(house.gateway.origin, path, query);
        expect(answer.body).not.toContain('Deletes');
        expect(answer.body).not.toContain('delete_file');
      }
      expect((await ask(house.gateway.origin, path, 'read a file')).body).toContain('Reads a file');
      expect(house.records.find(({ action }) => action === 'find')).toMatchObject({
        decision: 'allow',
        outcome: 'result',
        endpoint: path,
        ...(where === 'single' && { backend: 'a' }),
      });
    },
  );

  it('a rule can deny the search, which is not listed then', verifies('gateway:budget:find-policy'), async () => {
    const house = await open([readers, { id: 'no-search', effect: 'deny', what: ['find'] }]);
    const answer = await ask(house.gateway.origin, paths.merged, 'file');
    expect(answer.json().error.data).toMatchObject({ reason: 'policy_denied', rules: ['no-search'] });
    expect(house.records.at(-1)).toMatchObject({ action: 'find', decision: 'deny' });
    const list = await send(`${house.gateway.origin}${paths.merged}`, modern({ id: 2, method: 'tools/list' }));
    expect(namesOf(list.json().result.tools)).toEqual(['a__read_file', 'b__read_file']);
  });
});
