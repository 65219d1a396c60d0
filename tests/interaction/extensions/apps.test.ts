/** Apps behind a merged endpoint: hosts know them by the scheme of their resources and by the links of tools. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, namesOf, openMarket } from '../catalog/setup.ts';
import { openShop, type Shop } from '../catalog/shop.ts';
import type { Json } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Turn } from '../harness/http-backend.ts';

const ui = 'io.modelcontextprotocol/ui';
const app = 'text/html;profile=mcp-app';
const csp = { connectDomains: ['https://x.example'], resourceDomains: [] };

/** One app that is listed, one that is not, and a link to a page that is no resource. */
const tools = [
  {
    name: 'map',
    inputSchema: { type: 'object' },
    _meta: {
      ui: { resourceUri: 'ui://map/index.html', visibility: ['app'] },
      'ui/resourceUri': 'ui://map/index.html',
      'openai/outputTemplate': 'ui://hidden/x.html',
      'other/link': 'ui://map/index.html',
    },
  },
  { name: 'page', inputSchema: { type: 'object' }, _meta: { 'openai/outputTemplate': 'https://x.example/' } },
];
const called = {
  resultType: 'complete',
  content: [{ type: 'text', text: 'see' }],
  _meta: { ui: { resourceUri: 'ui://map/index.html' }, 'ui/resourceUri': 'UI://map/index.html' },
};

async function studio(era: 'legacy' | 'modern', name: string): Promise<Shop> {
  const read = (turn: Turn) => {
    const { uri } = turn.message.params;
    const contents = [{ uri, mimeType: app, text: `<p>${name}</p>`, _meta: { ui: { csp } } }];
    turn.result({ resultType: 'complete', contents, ttlMs: 0, cacheScope: 'private' });
  };
  return openShop(era, name, {
    capabilities: { tools: {}, resources: { subscribe: true }, extensions: { [ui]: {} } },
    tools,
    resources: [{ uri: 'ui://map/index.html', name: 'map', mimeType: app, _meta: { ui: { csp } } }],
    templates: [{ uriTemplate: 'ui://page/{id}', name: 'page' }],
    script: { 'resources/read': read, 'tools/call': (turn) => turn.result(called) },
  });
}

describe.each(eras)('for a %s client', (era) => {
  describe.each(eras)('and %s backends', (backendEra) => {
    it('every link leads to the app of the backend that gave it', verifies('gateway:extensions:apps'), async () => {
      const shops = [await studio(backendEra, 'one'), await studio(backendEra, 'two')];
      const client = await enter(era, (await openMarket(shops)).url());
      expect(namesOf(await client.all('resources/list'))).toEqual([
        'ui://one/map/index.html',
        'ui://two/map/index.html',
      ]);
      expect(namesOf(await client.all('resources/templates/list'))).toEqual([
        'ui://one/page/{id}',
        'ui://two/page/{id}',
      ]);
      const listed = await client.all('tools/list');
      expect(listed.map(({ _meta }) => _meta)).toEqual(
        ['one', 'two'].flatMap((name) => [
          {
            ui: { resourceUri: `ui://${name}/map/index.html`, visibility: ['app'] },
            'ui/resourceUri': `ui://${name}/map/index.html`,
            'openai/outputTemplate': `ui://${name}/hidden/x.html`,
            'other/link': 'ui://map/index.html',
          },
          { 'openai/outputTemplate': 'https://x.example/' },
        ]),
      );
      const { result } = await client.ask('tools/call', { name: 'two__map', arguments: {} });
      expect(result._meta).toMatchObject({
        ui: { resourceUri: 'ui://two/map/index.html' },
        'ui/resourceUri': 'UI://two/map/index.html',
      });
      // The second is in no list, and the last has the spelling of the result.
      for (const uri of ['ui://two/map/index.html', 'ui://two/hidden/x.html', 'UI://two/map/index.html']) {
        const [content] = (await client.ask('resources/read', { uri })).result.contents;
        expect(content).toEqual({ uri, mimeType: app, text: '<p>two</p>', _meta: { ui: { csp } } });
      }
    });
  });

  it(
    'an address is the same whether or not other backends have resources',
    verifies('gateway:extensions:apps'),
    async () => {
      const shops = [await studio('modern', 'one'), await openShop('modern', 'two', { capabilities: { tools: {} } })];
      const client = await enter(era, (await openMarket(shops)).url());
      expect(namesOf(await client.all('resources/list'))).toEqual(['ui://one/map/index.html']);
      const { result } = await client.ask('tools/call', { name: 'one__map', arguments: {} });
      expect(result._meta.ui.resourceUri).toBe('ui://one/map/index.html');
      for (const uri of ['ui://one/map/index.html', 'ui://map/index.html'])
        expect((await client.ask('resources/read', { uri })).result.contents[0].uri).toBe(uri);
    },
  );

  it.each([undefined, 'one'])(
    'a tool loses the link to an app that the client may not read, and nothing else (endpoint of %s)',
    verifies('gateway:extensions:apps-policy'),
    async (backend) => {
      const shops = [await studio('modern', 'one'), await studio('modern', 'two')];
      const gateway = await startGateway({
        backends: Object.fromEntries(shops.map((shop) => [shop.name, { url: shop.backend.url }])),
        policy: {
          rules: [
            { id: 'tools', effect: 'allow', on: { tools: ['*'] } },
            { id: 'apps', effect: 'allow', on: { uris: ['*'] } },
            { id: 'no-map', effect: 'deny', on: { uris: ['ui://map/**'] } },
          ],
        },
      });
      const client = await enter(era, gateway.url(backend));
      const [{ _meta }, page] = (await client.all('tools/list')) as [Json, Json];
      const prefix = backend === undefined ? 'one/' : '';
      expect(_meta).toEqual({
        ui: { visibility: ['app'] },
        'openai/outputTemplate': `ui://${prefix}hidden/x.html`,
        'other/link': 'ui://map/index.html',
      });
      expect(page._meta).toEqual({ 'openai/outputTemplate': 'https://x.example/' });
      expect(await client.all('resources/list')).toEqual([]);
      const { error } = await client.ask('resources/read', { uri: `ui://${prefix}map/index.html` });
      expect(error).toBeDefined();
    },
  );
});
