/** Backends that list some tools only to clients that declare an extension. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, namesOf, openMarket, signature } from '../catalog/setup.ts';
import { openShop, tool } from '../catalog/shop.ts';
import { eras } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';

const ui = 'io.modelcontextprotocol/ui';
const app = 'text/html;profile=mcp-app';
const withApps = { capabilities: { extensions: { [ui]: { mimeTypes: [app] } } } };

/** Shows one tool to every client, and another to clients that declare apps. */
async function theatre(cacheScope: 'public' | 'private') {
  const list = (turn: Turn) => {
    const { extensions } = turn.message.params._meta['io.modelcontextprotocol/clientCapabilities'];
    const tools = [{ name: 'plain', inputSchema: { type: 'object' } }];
    if (extensions?.[ui]?.mimeTypes.includes(app)) tools.push({ ...tools[0]!, name: 'shown' });
    turn.result({ resultType: 'complete', tools, ttlMs: 60_000, cacheScope });
  };
  const capabilities = { tools: {}, extensions: { [ui]: {} } };
  const shop = await openShop('modern', 'a', { capabilities, script: { 'tools/list': list } });
  const other = await openShop('modern', 'b', { tools: [tool('t')], ttlMs: 60_000, cacheScope });
  return { shop, url: (await openMarket([shop, other])).url() };
}

describe.each(eras)('for a %s client', (era) => {
  describe.each(['public', 'private'] as const)('of a %s list', (cacheScope) => {
    it(
      'a merged list has what the backend shows to a client with these extensions',
      verifies('gateway:extensions:lists'),
      async () => {
        const { shop, url } = await theatre(cacheScope);
        const plain = await enter(era, url);
        const rich = await enter(era, url, withApps);
        for (let round = 0; round < 2; round++) {
          expect(namesOf(await plain.all('tools/list'))).toEqual(['a__plain', 'b__t']);
          expect(namesOf(await rich.all('tools/list'))).toEqual(['a__plain', 'a__shown', 'b__t']);
        }
        expect(shop.count('tools/list')).toBe(2);
        expect(signature(await rich.ask('tools/call', { name: 'a__shown', arguments: {} }))).toContain('a');
      },
    );
  });

  it(
    'settings that the gateway does not know make no list of their own',
    verifies('gateway:extensions:lists'),
    async () => {
      const { shop, url } = await theatre('private');
      for (let at = 0; at < 3; at++) {
        const settings = { mimeTypes: [app, `text/x-${at}`], [`more${at}`]: at };
        const client = await enter(era, url, { capabilities: { extensions: { [ui]: settings } } });
        expect(await client.all('tools/list')).toHaveLength(3);
      }
      expect(shop.count('tools/list')).toBe(1);
    },
  );
});
