/** What clients call things by, where several backends stand behind an endpoint. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { eras } from '../harness/eras.ts';
import { everyCapability } from '../harness/http-backend.ts';
import { enter, type Guest, namesOf, openMarket, signature } from './setup.ts';
import { openShop, prompt, tool } from './shop.ts';

/** `both` is at both. */
async function shops(more: readonly object[] = []) {
  const of = (own: string) => ({ tools: [tool('both'), tool(own), ...more], prompts: [prompt('both'), prompt(own)] });
  return [await openShop('modern', 'm', of('only-m')), await openShop('legacy', 'l', of('only-l'))];
}

const callers = [
  { list: 'tools/list', use: 'tools/call' },
  { list: 'prompts/list', use: 'prompts/get' },
] as const;

const askedFor = async (guest: Guest, use: string, name: string) => signature(await guest.ask(use, { name }));

describe.each(eras)('for a %s client', (era) => {
  it.each(callers)(
    'always: every name of $list contains its backend',
    verifies('gateway:catalog:names'),
    async ({ list, use }) => {
      const guest = await enter(era, (await openMarket(await shops(), { endpoint: { names: 'always' } })).url());
      expect(namesOf(await guest.all(list))).toEqual(['m__both', 'm__only-m', 'l__both', 'l__only-l']);
      for (const shop of ['m', 'l']) {
        for (const name of ['both', `only-${shop}`]) {
          expect(await askedFor(guest, use, `${shop}__${name}`)).toMatch(new RegExp(`^${shop}: .*"${name}"`));
        }
      }
      const { error } = await guest.ask(use, { name: 'only-m' });
      expect(error).toMatchObject({ code: -32602 });
    },
  );

  it.each(callers)(
    'collision: only names of $list that several have',
    verifies('gateway:catalog:names'),
    async ({ list, use }) => {
      const guest = await enter(era, (await openMarket(await shops(), { endpoint: { names: 'collision' } })).url());
      expect(namesOf(await guest.all(list))).toEqual(['m__both', 'only-m', 'l__both', 'only-l']);
      expect(await askedFor(guest, use, 'only-l')).toMatch(/^l: .*"only-l"/);
      expect(await askedFor(guest, use, 'm__both')).toMatch(/^m: .*"both"/);
      expect(await askedFor(guest, use, 'l__both')).toMatch(/^l: .*"both"/);
      // The longer form means the same, whether it is listed or not.
      expect(await askedFor(guest, use, 'l__only-l')).toMatch(/^l: .*"only-l"/);
      expect((await guest.ask(use, { name: 'both' })).error).toMatchObject({ code: -32602 });
    },
  );

  it.each(callers)(
    'never: an entry that several backends have is left out of $list, and reported',
    verifies('gateway:catalog:names'),
    async ({ list, use }) => {
      const gateway = await openMarket(await shops(), { endpoint: { names: 'never' } });
      const guest = await enter(era, gateway.url());
      const [page] = await guest.pages(list);
      expect(namesOf(page.tools ?? page.prompts)).toEqual(['only-m', 'only-l']);
      expect(page._meta['bascule/collisions']).toEqual([{ name: 'both', backends: ['m', 'l'] }]);
      expect(await askedFor(guest, use, 'only-m')).toMatch(/^m: /);
      const { error } = await guest.ask(use, { name: 'both' });
      expect(error).toMatchObject({ code: -32602, data: { reason: 'name_collision', backends: ['m', 'l'] } });
      expect(gateway.log).toContainEqual(
        expect.objectContaining({
          level: 'warn',
          facts: expect.objectContaining({ name: 'both', backends: ['m', 'l'] }),
        }),
      );
    },
  );

  it(
    'names that are too long, or of other characters, are shortened, and can be called',
    verifies('gateway:catalog:names'),
    async () => {
      const hostile = [
        'x'.repeat(300),
        `${'x'.repeat(300)}y`,
        'größe 🎈',
        'a/b',
        'a_b',
        'm__both',
        `both_${'0'.repeat(16)}`,
        'y'.repeat(61),
        'y'.repeat(62),
      ];
      const all = await shops(hostile.map((name) => tool(name)));
      const guest = await enter(era, (await openMarket(all)).url());
      const names = namesOf(await guest.all('tools/list'));
      expect(new Set(names).size).toBe(2 * (2 + hostile.length));
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      const own = ['both', 'only-m', ...hostile];
      for (const [index, name] of names.slice(0, own.length).entries()) {
        expect(await askedFor(guest, 'tools/call', name)).toContain(`m: ${JSON.stringify([own[index]])}`.slice(0, -1));
      }
      // Whoever starts another gateway finds the same names, and can use them before any list was read.
      const again = await enter(era, (await openMarket(all)).url());
      expect(await askedFor(again, 'tools/call', names.at(-1) ?? '')).toContain(`l: ["${'y'.repeat(62)}"`);
      expect(namesOf(await again.all('tools/list'))).toEqual(names);
    },
  );

  it('a backend alone keeps its names', verifies('gateway:catalog:names'), async () => {
    const [one, other] = await shops([tool('größe'), tool('x'.repeat(100))]);
    if (one === undefined || other === undefined) throw new Error('no shops');
    const own = ['both', 'only-m', 'größe', 'x'.repeat(100)];
    const among = await openMarket([one, other]);
    const alone = await openMarket([one]);
    for (const url of [among.url('m'), alone.url()]) {
      const guest = await enter(era, url);
      expect(namesOf(await guest.all('tools/list'))).toEqual(own);
      expect(await askedFor(guest, 'tools/call', 'both')).toMatch(/^m: .*"both"/);
    }
  });
});

describe('headers', () => {
  const region = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
  const setting = async () => {
    const tools = [tool('größe', { inputSchema: region }), tool('plain', { inputSchema: region })];
    const all = [await openShop('modern', 'm', { tools, prompts: [prompt('p')] }), await openShop('legacy', 'l')];
    return { m: all[0]!, gateway: await openMarket(all) };
  };

  it(
    'the client sends the renamed tool name, the backend gets its own',
    verifies('gateway:catalog:names-headers'),
    async () => {
      const { m, gateway } = await setting();
      const guest = await enter('modern', gateway.url());
      const args = { arguments: { region: 'north' } };
      const headers = { 'mcp-param-region': 'north' };
      const [first, second] = namesOf(await guest.all('tools/list'));
      expect(signature(await guest.ask('tools/call', { name: first, ...args }, headers))).toContain('m: ["größe"');
      expect(signature(await guest.ask('tools/call', { name: second, ...args }, headers))).toContain('m: ["plain"');
      await guest.ask('prompts/get', { name: 'm__p' });
      const sent = m.backend.of('tools/call').map(({ headers: got }) => [got['mcp-name'], got['mcp-param-region']]);
      const encoded = `=?base64?${Buffer.from('größe').toString('base64')}?=`;
      expect(sent).toEqual([
        [encoded, 'north'],
        ['plain', 'north'],
      ]);
      expect(m.backend.of('prompts/get')[0]?.headers['mcp-name']).toBe('p');
    },
  );

  const wrong = [
    { name: 'Mcp-Name has the backend’s name', headers: { 'mcp-name': 'plain', 'mcp-param-region': 'north' } },
    { name: 'Mcp-Param-* with another value', headers: { 'mcp-param-region': 'south' } },
    { name: 'Mcp-Param-* is missing', headers: {} },
  ];
  it.each(wrong)(
    'a header that disagrees is rejected before any backend: $name',
    verifies('gateway:catalog:names-headers'),
    async ({ headers }) => {
      const { m, gateway } = await setting();
      const guest = await enter('modern', gateway.url());
      const call = { name: 'm__plain', arguments: { region: 'north' } };
      const answer = await guest.send('tools/call', call, headers as Record<string, string>);
      expect(answer.status).toBe(400);
      expect(answer.json().error).toMatchObject({ code: -32020, data: { reason: 'header_mismatch' } });
      expect(m.count('tools/call')).toBe(0);
    },
  );

  it(
    'a legacy client’s call gets the headers that its tool wants',
    verifies('gateway:catalog:names-headers'),
    async () => {
      const { m, gateway } = await setting();
      const guest = await enter('legacy', gateway.url());
      const call = { name: 'm__plain', arguments: { region: 'north' } };
      expect(signature(await guest.ask('tools/call', call))).toContain('m: ["plain"');
      const { headers } = await m.backend.arrival('tools/call');
      expect([headers['mcp-name'], headers['mcp-param-region']]).toEqual(['plain', 'north']);
    },
  );

  it(
    'a tool whose x-mcp-header annotations are invalid is left out of the merged list',
    verifies('gateway:catalog:names-headers'),
    async () => {
      const invalid = { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } };
      const tools = [tool('bad', { inputSchema: invalid }), tool('good')];
      const all = [
        await openShop('modern', 'm', { tools }),
        await openShop('modern', 'n', { capabilities: everyCapability }),
      ];
      const guest = await enter('modern', (await openMarket(all)).url());
      expect(namesOf(await guest.all('tools/list'))).toEqual(['m__good']);
    },
  );
});
