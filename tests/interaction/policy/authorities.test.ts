/**
 * A rule that denies an address holds for the forms that a backend takes for the same path, or for the same host and
 * path.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { Json } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { call, type House, named, openHouse, ways } from './setup.ts';

const good = { ttlMs: 60_000, cacheScope: 'public' };
const script: Script = {
  'server/discover': (turn) =>
    turn.result({
      ...{ resultType: 'complete', supportedVersions: ['2026-07-28'], ...good },
      capabilities: { tools: {}, resources: {}, completions: {} },
    }),
  'resources/list': (turn) => turn.result({ resultType: 'complete', ...good, resources: [] }),
  'resources/templates/list': (turn) => turn.result({ resultType: 'complete', ...good, resourceTemplates: [] }),
  'completion/complete': (turn) => turn.result({ resultType: 'complete', completion: { values: [] } }),
  'resources/read': (turn) => turn.result({ resultType: 'complete', ...good, contents: [] }),
};

const patterns = [
  ...['file:///secret/**', 'notes:///secret/**', 'memo://secret/**', 'doc:secret/**', 'page:/secret/**'],
  ...['web+x:///secret', 'http://host/secret/**', 'https:///secret/**'],
];
const denied = [
  ...['file://x/secret/b', 'file://127.0.0.1/secret/b', 'file://[::1]/secret/b', 'file://u@x:1/secret/b'],
  ...['FILE://X/secret/b', 'file://x/%73ecret/b', 'file://x/secret', 'file://x/secret/b?q#f', 'file://x\\secret\\b'],
  ...['notes:/secret/b', 'notes:secret/b', 'notes://x/secret/b', 'notes://localhost/secret/b', 'notes://x:1/secret/b'],
  ...['NOTES:secret/b', 'notes:%73ecret/b', 'notes:secret', 'notes:secret;v=1/b', 'notes:\\secret\\b'],
  ...['memo://secret:1/b', 'memo://u@secret/b', 'memo://u:p@SECRET:1/b', 'memo://secret%3A1/b', 'memo://secret:1'],
  ...['memo://u%2f@SECRET/b', 'memo://u%3fv%23@Secret:1/b', 'notes://u%2f@x/%73ecret/b', 'file://x%2fy/%73ecret/b'],
  ...['http://u%2f@host/%73ecret/b'],
  ...['memo:secret/b', 'memo:/secret/b', 'memo:///secret/b'],
  ...['doc:/secret/b', 'doc:///secret/b', 'doc://x/secret/b', 'page:secret/b', 'page:///secret/b', 'page://x/secret/b'],
  ...['web+x:/secret', 'web+x://x/secret/?q'],
];
const allowed = [
  ...[
    'file://x/public/b',
    'file:///public/secret/b',
    'notes:public/b',
    'notes://secret2/b',
    'notes://x/y?at=/secret/b',
  ],
  ...['memo://public/secret/b', 'memo://secret.example/b', 'doc://secrets/b', 'urn:isbn:0451450523'],
  ...['jdbc:mysql://secret:3306/b', 'http://other/secret/b', 'http://host:8080/secret/b', 'https://host/secret/b'],
];

const all = { id: 'all', effect: 'allow' };
const read = (uri: string): Json => ({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } });
const complete = (uri: string): Json => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'completion/complete' },
  params: { ref: { type: 'ref/resource', uri }, argument: { name: 'x', value: '' } },
});
const heard = ({ a, b }: House, method: string) => [...a.of(method), ...b.of(method)].length;

describe.each(eras)('with %s backends', (era) => {
  describe.each(ways)('over $name', (way) => {
    const at = (uri: string) => (way.where === 'merged' ? `bascule:a/${uri}` : uri);

    it(
      'an address with another authority or number of slashes is not read past a rule that denies its path',
      verifies('gateway:policy:names'),
      async () => {
        const rules = [all, { id: 'no', effect: 'deny', on: { uris: patterns } }];
        const house = await openHouse({ era, script, more: { policy: { rules } } });
        const client = await way.enter(house);
        const passed: string[] = [];
        for (const uri of denied) if ((await client.ask(read(at(uri)))).error?.code !== 403) passed.push(uri);
        expect(passed).toEqual([]);
        expect(heard(house, 'resources/read')).toBe(0);
        for (const uri of allowed) expect([uri, (await client.ask(read(at(uri)))).error]).toEqual([uri, undefined]);
      },
    );

    it('nor are its completions, as a template or as it is', verifies('gateway:policy:names'), async () => {
      const rules = [all, { id: 'no', effect: 'deny', on: { uris: patterns } }];
      const house = await openHouse({ era, script, more: { policy: { rules } } });
      const client = await way.enter(house);
      const passed: string[] = [];
      const secret = denied.filter((uri) => uri.endsWith('/b')).map((uri) => uri.replace(/b$/, '{x}'));
      for (const uri of [...secret, ...denied, 'notes:/{x}']) {
        if ((await client.ask(complete(at(uri)))).error?.code !== 403) passed.push(uri);
      }
      expect(passed).toEqual([]);
      expect(heard(house, 'completion/complete')).toBe(0);
      const open = ['notes:/public/{x}', 'memo://public/secret/{x}', 'http://other/secret/{x}', 'urn:isbn:{x}'];
      for (const uri of open) expect([uri, (await client.ask(complete(at(uri)))).error]).toEqual([uri, undefined]);
    });

    it('nor is it as an argument', verifies('gateway:policy:names'), async () => {
      const no = { id: 'no', effect: 'deny', what: ['call'], with: { arguments: { url: { glob: patterns } } } };
      const house = await openHouse({ era, more: { policy: { rules: [all, no] } } });
      const client = await way.enter(house);
      const name = named(way.where, 'read_file');
      const passed: string[] = [];
      for (const url of [...denied, ' notes:/secret/b', 'no\ttes:secret/b ']) {
        if ((await client.ask(call(name, { url }))).error?.code !== 403) passed.push(url);
      }
      expect(passed).toEqual([]);
      expect(heard(house, 'tools/call')).toBe(0);
      for (const url of [...allowed, 'To do: a\nb', 'secret/b', 'C:/secret/b']) {
        expect([url, (await client.ask(call(name, { url }))).error]).toEqual([url, undefined]);
      }
    });

    it('an allowing rule needs the plain name', verifies('gateway:policy:names'), async () => {
      const uris = ['file:///public/**', 'notes:///public/**', 'memo://public/**'];
      const rules = [{ id: 'some', effect: 'allow', on: { uris: uris.flatMap((uri) => [uri, `bascule:a/${uri}`]) } }];
      const house = await openHouse({ era, script, more: { policy: { rules } } });
      const client = await way.enter(house);
      const others = ['file://x/public/b', 'notes:/public/b', 'notes:public/b', 'notes://x/public/b', 'memo:public/b'];
      for (const uri of [...others, 'memo://public:1/b']) {
        expect([uri, (await client.ask(read(at(uri)))).error?.code]).toEqual([uri, 403]);
      }
      expect(heard(house, 'resources/read')).toBe(0);
      for (const uri of ['file:///public/b', 'notes:///public/b', 'memo://public/b']) {
        expect([uri, (await client.ask(read(at(uri)))).error]).toEqual([uri, undefined]);
      }
    });
  });
});
