/**
 * The decision that denies a call also hides what is called: in lists, completions and subscriptions, under every name.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, open, send } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { call, named, openHouse, paths, tools, ways } from './setup.ts';

const readers = {
  policy: {
    rules: [
      { id: 'read', effect: 'allow', what: ['call'], on: { tools: ['*read_file', '*list_files'] } },
      { id: 'docs', effect: 'allow', what: ['read', 'subscribe'], on: { uris: ['doc://open/**'] } },
    ],
  },
};
const namesOf = ({ result }: Json) => result.tools.map(({ name }: { name: string }) => name);

describe.each(['legacy', 'modern'] as const)('with %s backends', (era) => {
  it.each(ways)(
    'over $name a list contains only what may be called',
    verifies('gateway:policy:filtered'),
    async (way) => {
      const house = await openHouse({ era, more: readers });
      const client = await way.enter(house);
      const answer = await client.ask({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
      const backends = way.where === 'merged' ? ['a__', 'b__'] : [''];
      expect(namesOf(answer)).toEqual(backends.flatMap((prefix) => [`${prefix}read_file`, `${prefix}list_files`]));
      if (way.name.includes('modern')) expect(answer.result.cacheScope).toBe('private');
    },
  );
});

it(
  'the rest of a filtered list is what the backend wrote, byte for byte',
  verifies('gateway:policy:filtered'),
  async () => {
    const kept =
      '{"annotations":{"x":1.0},"name" : "read_file","inputSchema":{"type":"object"},"big":12345678901234567890}';
    const list = (id: Json) =>
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete","tools":[{"name":"delete_file"},${kept}],"ttlMs":5,"cacheScope":"public","extra":1.50}}`;
    const house = await openHouse({
      script: { 'tools/list': (turn) => turn.json(list(turn.message.id)) },
      more: readers,
    });
    const answer = await send(`${house.gateway.origin}${paths.single}`, modern({ id: 7, method: 'tools/list' }));
    expect(answer.body).toBe(
      `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","tools":[${kept}],"ttlMs":5,"cacheScope":"private","extra":1.50}}`,
    );
  },
);

it('in audit mode every principal sees everything', verifies('gateway:policy:filtered'), async () => {
  const house = await openHouse({ more: { policy: { ...readers.policy, mode: 'audit' } } });
  const answer = await send(`${house.gateway.origin}${paths.single}`, modern({ method: 'tools/list' }));
  expect(namesOf(answer.json())).toEqual(tools);
});

describe('two principals', () => {
  it.each(['merged', 'single'] as const)(
    'each see their own list, whoever lists first, and no cached page of the one serves the other: %s',
    verifies('gateway:policy:filtered', 'gateway:identity:no-sharing'),
    async (where) => {
      const ring = keyRing();
      const [boss, intern] = [ring.make('boss'), ring.make('intern')];
      const rules = [
        { id: 'boss', effect: 'allow', who: { keys: ['boss'] }, what: ['call'] },
        { id: 'intern', effect: 'allow', who: { keys: ['intern'] }, what: ['call'], on: { tools: ['*read_file'] } },
      ];
      const more = { policy: { rules }, identity: { keys: { file: ring.path } }, limits: { listPageEntries: 2 } };
      const house = await openHouse({ more });
      const url = `${house.gateway.origin}${paths[where]}`;
      const list = async (key: string, cursor?: string) => {
        const request = modern({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } });
        const headers = { ...request.headers, authorization: `Bearer ${key}` };
        return (await send(url, { ...request, headers })).json();
      };
      const all = async (key: string) => {
        const names: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const page = await list(key, cursor);
          names.push(...namesOf(page));
          cursor = page.result.nextCursor;
          if (cursor === undefined) return names;
        }
      };
      const prefixes = where === 'merged' ? ['a__', 'b__'] : [''];
      const everything = prefixes.flatMap((prefix) => tools.map((name) => `${prefix}${name}`));
      const allowed = prefixes.map((prefix) => `${prefix}read_file`);
      for (const round of [1, 2]) {
        expect([round, await all(boss)]).toEqual([round, everything]);
        expect([round, await all(intern)]).toEqual([round, allowed]);
      }
      if (where === 'single') return;
      const { result } = await list(boss);
      expect((await list(intern, result.nextCursor)).error.code).toBe(-32602);
    },
  );
});

describe('no other name gets round a rule', () => {
  const rules = [
    { id: 'all', effect: 'allow', what: ['call', 'read'] },
    { id: 'no-deletes', effect: 'deny', what: ['call'], on: { tools: ['delete_file', 'a__shared'] } },
    { id: 'no-secrets', effect: 'deny', what: ['read'], on: { uris: ['secret://**'] } },
  ];

  async function market(more: ConfigValue = {}) {
    const a = await modernBackend({
      'tools/list': (turn) =>
        turn.result({ tools: ['delete_file', 'shared'].map((name) => ({ name, inputSchema: {} })) }),
      'tools/call': (turn) => turn.result({ content: [] }),
      'resources/list': (turn) => turn.result({ resources: [{ uri: 'secret://x', name: 'x' }] }),
      'resources/templates/list': (turn) => turn.result({ resourceTemplates: [] }),
      'resources/read': (turn) => turn.result({ contents: [] }),
    });
    const b = await modernBackend({
      'tools/list': (turn) => turn.result({ tools: [{ name: 'shared', inputSchema: {} }] }),
      'resources/list': (turn) => turn.result({ resources: [{ uri: 'doc://y', name: 'y' }] }),
      'resources/templates/list': (turn) => turn.result({ resourceTemplates: [] }),
    });
    const gateway = await startGateway({
      backends: { a: { url: a.url }, b: { url: b.url } },
      endpoints: [{ path: '/mcp', names: 'collision' }],
      policy: { rules },
      ...more,
    });
    return { a, url: gateway.url() };
  }

  // `delete_file` is listed so; `a__delete_file` is understood all the same.
  it.each(['delete_file', 'a__delete_file', 'a__shared'])(
    'calling %s',
    verifies('gateway:policy:names'),
    async (name) => {
      const { a, url } = await market();
      expect((await send(url, modern(call(name)))).json().error).toMatchObject({
        code: 403,
        data: { rules: ['no-deletes'] },
      });
      const client = await connectLegacy(url);
      expect((await client.post(call(name))).json().error).toMatchObject({
        code: 403,
        data: { rules: ['no-deletes'] },
      });
      expect(a.of('tools/call')).toEqual([]);
    },
  );

  const spellings = [
    'secret://x',
    'bascule:a/secret://x',
    'bascule:a/secret://unlisted',
    'SECRET://x',
    'bascule:a/SECRET://x',
  ];
  it.each(spellings)('reading %s', verifies('gateway:policy:names'), async (uri) => {
    const { a, url } = await market();
    const answer = await send(url, modern({ method: 'resources/read', params: { uri } }));
    expect(answer.json().error).toBeDefined();
    expect(a.of('resources/read')).toEqual([]);
  });
});

describe.each(['merged', 'single'] as const)('a subscription, %s', (where) => {
  const listen = (resourceSubscriptions: readonly string[]) =>
    modern({ id: 'l', method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions } } });
  const script = {
    'resources/list': (turn: Json) => turn.result({ resources: [], ttlMs: 60_000, cacheScope: 'public' }),
    'resources/templates/list': (turn: Json) =>
      turn.result({ resourceTemplates: [], ttlMs: 60_000, cacheScope: 'public' }),
    'subscriptions/listen': (turn: Json) => {
      const { notifications } = turn.message.params;
      turn.stream().event({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id } },
      });
    },
  };
  const at = (uri: string) => (where === 'merged' ? `bascule:a/${uri}` : uri);
  const rules = [
    {
      id: 'docs',
      effect: 'allow',
      what: ['read', 'subscribe'],
      on: { uris: ['doc://open/**', 'bascule:a/doc://open/**'] },
    },
  ];

  it(
    'is honoured for readable resources, and only those reach the backend',
    verifies('gateway:policy:filtered'),
    async () => {
      const house = await openHouse({ script, more: { policy: { rules } } });
      const url = `${house.gateway.origin}${paths[where]}`;
      const stream = await open(url, listen([at('doc://open/x'), at('doc://shut/y')]));
      const { params } = await stream.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
      expect(params.notifications).toEqual({ resourceSubscriptions: [at('doc://open/x')] });
      const asked = house.a
        .of('subscriptions/listen')
        .flatMap(({ message }) => message.params.notifications.resourceSubscriptions ?? []);
      expect([...new Set(asked)]).toEqual(['doc://open/x']);
      stream.close();
    },
  );

  it('to no readable resource is denied', verifies('gateway:policy:denied-request'), async () => {
    const house = await openHouse({ script, more: { policy: { rules } } });
    const answer = await send(`${house.gateway.origin}${paths[where]}`, listen([at('doc://shut/y')]));
    expect(answer.json().error).toMatchObject({ code: 403, data: { reason: 'policy_denied', rules: [] } });
  });
});

it('a hidden prompt is not completed either', verifies('gateway:policy:filtered'), async () => {
  const rules = [{ id: 'complete', effect: 'allow', what: ['complete'] }];
  const house = await openHouse({ more: { policy: { rules } } });
  const params = { ref: { type: 'ref/prompt', name: named('single', 'p') }, argument: { name: 'x', value: '' } };
  const answer = await send(
    `${house.gateway.origin}${paths.single}`,
    modern({ method: 'completion/complete', params }),
  );
  expect(answer.json().error.code).toBe(403);
  expect(house.a.of('completion/complete')).toEqual([]);
});
