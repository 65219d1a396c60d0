/** A rule that denies holds for a thing under every name that it has anywhere, and in every reading of its address. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { eras, modern } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { call, type House, openHouse, paths, type Way, ways } from './setup.ts';

const long = `delete_${'x'.repeat(70)}_database`;
const good = { ttlMs: 60_000, cacheScope: 'public' };
const uris = ['secret://shared', 'doc://open'];
const script: Script = {
  'server/discover': (turn) =>
    turn.result({
      ...{ resultType: 'complete', supportedVersions: ['2026-07-28'], ...good },
      capabilities: { tools: {}, prompts: {}, completions: {}, resources: { subscribe: true } },
    }),
  'tools/list': (turn) =>
    turn.result({
      ...{ resultType: 'complete', ...good },
      tools: [long, 'read', 'wipe'].map((name) => ({ name, inputSchema: { type: 'object' } })),
    }),
  'tools/call': (turn) => turn.result({ resultType: 'complete', content: [] }),
  'prompts/list': (turn) =>
    turn.result({ resultType: 'complete', ...good, prompts: [{ name: long }, { name: 'greet' }] }),
  'prompts/get': (turn) => turn.result({ resultType: 'complete', messages: [] }),
  'completion/complete': (turn) => turn.result({ resultType: 'complete', completion: { values: [] } }),
  'resources/list': (turn) =>
    turn.result({ resultType: 'complete', ...good, resources: uris.map((uri) => ({ uri, name: uri })) }),
  'resources/templates/list': (turn) => {
    const resourceTemplates = [{ uriTemplate: 'secret://{name}', name: 't' }];
    turn.result({ resultType: 'complete', ...good, resourceTemplates });
  },
  'resources/read': (turn) => turn.result({ resultType: 'complete', ...good, contents: [] }),
};

const all = { id: 'all', effect: 'allow' };
const deny = (on: object) => ({ policy: { rules: [all, { id: 'no', effect: 'deny', on }] } });
const ask = (method: string, params: object): Json => ({ jsonrpc: '2.0', id: 1, method, params });
const heard = ({ a, b }: House, method: string) => [...a.of(method), ...b.of(method)].length;

/** As the endpoint of that way lists the first backend's thing. */
async function listed(client: Awaited<ReturnType<Way['enter']>>, list: string, isIt: (name: string) => boolean) {
  const { result } = await client.ask({ jsonrpc: '2.0', id: 1, method: `${list}/list`, params: {} });
  return result[list].map(({ name, uri }: Json) => uri ?? name).find(isIt);
}

describe.each(eras)('with %s backends', (era) => {
  describe.each(ways)('over $name', (way) => {
    const cases = [
      { what: 'the name that its backend gave it', tools: [long] },
      { what: 'the part that is cut off when it is shortened', tools: ['*_database'] },
      { what: 'its name with that of the backend before it', tools: [`a__${long}`] },
    ];
    it.each(cases)(
      'a tool that is denied by $what is neither called nor listed',
      verifies('gateway:policy:names'),
      async ({ tools }) => {
        const open = await openHouse({ era, script, more: { policy: { rules: [all] } } });
        const name = await listed(await way.enter(open), 'tools', (one) => one.includes('delete_'));
        expect(name).toBeDefined();
        const house = await openHouse({ era, script, more: deny({ tools }) });
        const client = await way.enter(house);
        expect(await listed(client, 'tools', (one) => one === name)).toBeUndefined();
        expect((await client.ask(call(name))).error).toMatchObject({ code: 403, data: { rules: ['no'] } });
        expect(heard(house, 'tools/call')).toBe(0);
      },
    );

    it(
      'a prompt that is denied by its own name is neither got nor completed nor listed',
      verifies('gateway:policy:names'),
      async () => {
        const house = await openHouse({ era, script, more: deny({ prompts: ['*_database'] }) });
        const client = await way.enter(house);
        expect(await listed(client, 'prompts', (one) => one.includes('delete_'))).toBeUndefined();
        const open = await openHouse({ era, script, more: { policy: { rules: [all] } } });
        const name = await listed(await way.enter(open), 'prompts', (one) => one.includes('delete_'));
        expect((await client.ask(ask('prompts/get', { name }))).error.code).toBe(403);
        const completion = { ref: { type: 'ref/prompt', name }, argument: { name: 'x', value: '' } };
        expect((await client.ask(ask('completion/complete', completion))).error.code).toBe(403);
        expect(heard(house, 'prompts/get') + heard(house, 'completion/complete')).toBe(0);
      },
    );

    // Both backends have it, so that it is listed as `bascule:a/…` where they are merged.
    const resources = [
      { what: 'its own URI', rule: 'secret://shared' },
      { what: 'a pattern of its own URI', rule: 'secret://**' },
      { what: 'the form that names its backend', rule: 'bascule:*/secret://shared' },
    ];
    it.each(resources)(
      'a resource that is denied by $what is neither read nor listed',
      verifies('gateway:policy:names'),
      async ({ rule }) => {
        const house = await openHouse({ era, script, more: deny({ uris: [rule] }) });
        const client = await way.enter(house);
        expect(await listed(client, 'resources', (one) => one.includes('shared'))).toBeUndefined();
        const spellings =
          way.where === 'merged' ? ['bascule:a/secret://shared', 'bascule:b/secret://shared'] : [uris[0]];
        for (const uri of spellings) {
          expect([uri, (await client.ask(ask('resources/read', { uri }))).error.code]).toEqual([uri, 403]);
        }
        expect(heard(house, 'resources/read')).toBe(0);
      },
    );
  });
});

describe.each(['merged', 'single'] as const)('subscriptions and templates, %s', (where) => {
  const at = (uri: string) => (where === 'merged' ? `bascule:a/${uri}` : uri);

  it(
    'a URI that is denied under its upstream name cannot be subscribed to',
    verifies('gateway:policy:names'),
    async () => {
      const house = await openHouse({ script, more: deny({ uris: ['secret://shared'] }) });
      const filter = { notifications: { resourceSubscriptions: [at('secret://shared')] } };
      const answer = await send(
        `${house.gateway.origin}${paths[where]}`,
        modern({ method: 'subscriptions/listen', params: filter }),
      );
      expect(answer.json().error).toMatchObject({ code: 403, data: { rules: ['no'] } });
    },
  );

  it(
    'a template that is denied under its upstream name is not completed',
    verifies('gateway:policy:names'),
    async () => {
      const house = await openHouse({ script, more: deny({ uris: ['secret://**'] }) });
      const ref = { type: 'ref/resource', uri: at('secret://{name}') };
      const message = modern({ method: 'completion/complete', params: { ref, argument: { name: 'name', value: '' } } });
      const answer = await send(`${house.gateway.origin}${paths[where]}`, message);
      expect(answer.json().error).toMatchObject({ code: 403, data: { rules: ['no'] } });
      expect(heard(house, 'completion/complete')).toBe(0);
    },
  );
});

it(
  'a backend that causes a name collision does not exempt a tool from a denying rule',
  verifies('gateway:policy:names'),
  async () => {
    const rules = [all, { id: 'no', effect: 'deny', on: { tools: ['wipe'] } }];
    // Both have `wipe`, so that it is listed as `a__wipe` and `b__wipe`.
    const house = await openHouse({ script, endpoint: { names: 'collision' }, more: { policy: { rules } } });
    for (const name of ['a__wipe', 'b__wipe']) {
      const { error } = (await send(`${house.gateway.origin}${paths.merged}`, modern(call(name)))).json();
      expect([name, error.code]).toEqual([name, 403]);
    }
    expect(heard(house, 'tools/call')).toBe(0);
  },
);

it(
  'a tool that is limited has one measure under all of its names and at all endpoints',
  verifies('gateway:policy:rate-limited'),
  async () => {
    const rates = [{ id: 'few', per: ['tool'], on: { tools: ['wipe'] }, perSecond: 0.001, burst: 2 }];
    const house = await openHouse({ script, endpoint: { names: 'collision' }, more: { rates } });
    const status = async (path: string, name: string) =>
      (await send(`${house.gateway.origin}${path}`, modern(call(name)))).status;
    expect(await status(paths.merged, 'a__wipe')).toBe(200);
    expect(await status(paths.single, 'wipe')).toBe(200);
    expect(await status(paths.merged, 'a__wipe')).toBe(429);
    expect(await status(paths.single, 'wipe')).toBe(429);
  },
);

describe('an address that parsers read in different ways', () => {
  const rules = [all, { id: 'no', effect: 'deny', on: { uris: ['file:///secrets/**', 'http://127.0.0.1/**'] } }];
  const spellings = [
    'file:///sec\trets/x',
    'file:///secrets\n/x',
    'file:secrets/x',
    'http:127.0.0.1/x',
    'http:/127.0.0.1/x',
    'http://2130706433/x',
    'http://0x7f.1/x',
    'http://127.0.0.1./x',
    'http://１２７.0.0.1/x',
    'http://user@127.0.0.1/x',
    'http://a%2fb@127.0.0.1/x',
    'http://a%3f:b%23@127.0.0.1:80/x',
    'http://a%5c@127.0.0.1/x',
    'http:\\\\127.0.0.1\\x',
    'file:///%252573ecrets/x',
    'file:///public/..%00/secrets/x',
    'file:///secrets',
    'file:///secrets?',
  ];
  it.each(ways)('over $name a rule that denies applies to it', verifies('gateway:policy:readings'), async (way) => {
    const house = await openHouse({ script, more: { policy: { rules } } });
    const client = await way.enter(house);
    for (const uri of spellings) {
      const typed = way.where === 'merged' ? `bascule:a/${uri}` : uri;
      const { error } = await client.ask(ask('resources/read', { uri: typed }));
      expect([uri, error?.code]).toEqual([uri, 403]);
    }
    expect(heard(house, 'resources/read')).toBe(0);
    const harmless = way.where === 'merged' ? 'bascule:a/file:///größe und mehr' : 'file:///größe und mehr';
    expect((await client.ask(ask('resources/read', { uri: harmless }))).result).toBeDefined();
  });

  it.each(ways)('over $name so it is as an argument', verifies('gateway:policy:readings'), async (way) => {
    const test = { url: { glob: ['file:///secrets/**', 'http://127.0.0.1/**'] } };
    const denied = { id: 'no', effect: 'deny', what: ['call'], with: { arguments: test } };
    const house = await openHouse({ more: { policy: { rules: [all, denied] } } });
    const client = await way.enter(house);
    const name = way.where === 'merged' ? 'a__read_file' : 'read_file';
    for (const url of spellings) {
      expect([url, (await client.ask(call(name, { url }))).error?.code]).toEqual([url, 403]);
    }
    expect(heard(house, 'tools/call')).toBe(0);
    expect((await client.ask(call(name, { url: 'http://münchen.example/x y' }))).result).toBeDefined();
  });
});

/** docs/policy.md, "Names are compared with their case". */
describe('a name in another case', verifies('gateway:policy:names'), () => {
  const modernCall = (name: string, method = 'tools/call') => modern({ method, params: { name, arguments: {} } });

  it('is another name: a rule that denies the tool does not hold for it, and the backend gets it as it is', async () => {
    const house = await openHouse({ script, more: deny({ tools: ['wipe'] }) });
    const answer = async (path: string, name: string) =>
      (await send(`${house.gateway.origin}${path}`, modernCall(name))).json();
    expect((await answer(paths.single, 'wipe')).error.code).toBe(403);
    expect((await answer(paths.merged, 'a__wipe')).error.code).toBe(403);
    expect(heard(house, 'tools/call')).toBe(0);
    expect((await answer(paths.single, 'Wipe')).result.content).toEqual([]);
    expect((await answer(paths.merged, 'a__Wipe')).result.content).toEqual([]);
    expect(house.a.of('tools/call').map(({ message }) => message.params.name)).toEqual(['Wipe', 'Wipe']);
  });

  it('is not allowed by a rule that allows the tool', async () => {
    const rules = [{ id: 'some', effect: 'allow', on: { tools: ['read'] } }];
    const house = await openHouse({ script, more: { policy: { rules } } });
    const url = `${house.gateway.origin}${paths.single}`;
    expect((await send(url, modernCall('read'))).json().error).toBeUndefined();
    expect((await send(url, modernCall('Read'))).json().error.code).toBe(403);
  });

  it('is no method of MCP', async () => {
    const house = await openHouse({ script, more: deny({ tools: ['wipe'] }) });
    const answer = await send(`${house.gateway.origin}${paths.single}`, modernCall('wipe', 'Tools/Call'));
    expect(answer.json().error.code).toBe(-32601);
    expect(heard(house, 'Tools/Call')).toBe(0);
  });
});
