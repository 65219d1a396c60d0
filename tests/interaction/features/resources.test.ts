/** Resources, listed and read: an official client and server of one era, with the gateway between them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { launchPair, type PlainPair } from '../harness/pairs.ts';
import { everyPage, page } from './samples.ts';

const capabilities = { resources: { subscribe: true, listChanged: true } };

const resources = [
  { uri: 'note://one', name: 'one', description: 'The first note' },
  {
    uri: 'note://two',
    name: 'two',
    title: 'The second',
    mimeType: 'text/plain',
    size: 3,
    annotations: { audience: ['user', 'assistant'], priority: 0.75, lastModified: '2025-01-12T15:00:58Z' },
  },
  { uri: 'note://three', name: 'three', _meta: { 'example.com/shelf': 3 } },
];

const resourceTemplates = [
  { uriTemplate: 'db://{table}/rows{?limit,offset}', name: 'rows', description: 'Rows of a table' },
  { uriTemplate: 'note://{+path}', name: 'notes', mimeType: 'text/markdown' },
  { uriTemplate: 'user://{id}', name: 'users', title: 'Users', annotations: { priority: 1 } },
];

const contents: Readonly<Record<string, object>> = {
  text: { uri: 'note://text', mimeType: 'text/x-odd; charset=utf-8', text: 'Zeile\n\u2028\u0000 und \ud83d\ude00' },
  blob: { uri: 'note://blob', mimeType: 'image/png', blob: 'AAECA/z9/v8=' },
};

describe.each(eras)('resources, %s', (era) => {
  let pair: PlainPair;
  beforeAll(async () => {
    pair = await launchPair(
      era,
      { capabilities },
      {
        'resources/list': page('resources', resources, 1),
        'resources/templates/list': page('resourceTemplates', resourceTemplates, 2),
        'resources/read': ({ uri }) => ({ contents: [contents[uri.slice('note://'.length)] ?? { uri, text: uri }] }),
      },
    );
  });
  afterAll(() => pair.close());

  it('advertises the capabilities of the backend', verifies('resources:capability:declared'), async () => {
    const client = await pair.connect();
    expect(client.getServerCapabilities()).toEqual(capabilities);
  });

  it(
    'lists resources as the backend has them, page by page',
    verifies('resources:list:basic', 'resources:list:pagination', 'resources:annotations'),
    async () => {
      const client = await pair.connect();
      pair.seen.length = 0;
      expect(await everyPage('resources', (params) => client.listResources(params))).toEqual(resources);
      expect(pair.seen.map(({ params }) => params?.cursor)).toEqual([undefined, 'from 1', 'from 2']);
    },
  );

  it(
    'lists templates as the backend has them, page by page',
    verifies('resources:templates:list', 'resources:templates:pagination'),
    async () => {
      const client = await pair.connect();
      pair.seen.length = 0;
      const listed = await everyPage('resourceTemplates', (params) => client.listResourceTemplates(params));
      expect(listed).toEqual(resourceTemplates);
      expect(pair.seen.map(({ params }) => params?.cursor)).toEqual([undefined, 'from 2']);
    },
  );

  for (const { kind, proves } of [
    { kind: 'text', proves: 'resources:read:text' },
    { kind: 'blob', proves: 'resources:read:blob' },
  ] as const) {
    it(`passes on ${kind} as it is`, verifies(proves), async () => {
      const client = await pair.connect();
      expect((await client.readResource({ uri: `note://${kind}` })).contents).toEqual([contents[kind]]);
    });
  }

  it('requests the URI as the client spelled it', verifies('resources:read:template-vars'), async () => {
    const client = await pair.connect();
    const uri = 'DB://Orders%2F2024/rows?limit=10&offset=%20#%C3%BC';
    pair.seen.length = 0;
    expect((await client.readResource({ uri })).contents).toEqual([{ uri, text: uri }]);
    expect(pair.seen.map(({ params }) => params.uri)).toEqual([uri]);
  });

  it('announces a change of the list', verifies('resources:list-changed'), async () => {
    let changes = 0;
    const client = await pair.connect({
      hears: {
        'notifications/resources/list_changed': () => {
          changes += 1;
        },
      },
    });
    await pair.listen(client, { resourcesListChanged: true });
    pair.announce.resources();
    await until(() => changes === 1, 'the change is announced');
  });
});
