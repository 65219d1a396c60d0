/** Overrides that no longer fit, reloads, and clients and backends that try to get round an override. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, heard } from '../catalog/setup.ts';
import { openShop, tool } from '../catalog/shop.ts';
import { type Json, send, until } from '../harness/client.ts';
import { eras, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { call, named, paths, type Where } from '../policy/setup.ts';
import { find, list, type OverriddenHouse, openOverridden, other, purge } from './setup.ts';

const wheres = ['merged', 'single'] as const;
const tellings = ({ gateway }: OverriddenHouse) =>
  gateway.log.filter(({ text }) => text === 'an override does not fit').map(({ facts }) => facts);

async function ask({ gateway }: OverriddenHouse, where: Where, body: Json): Promise<Json> {
  return (await send(`${gateway.origin}${paths[where]}`, modern(body))).json();
}

async function names(house: OverriddenHouse, where: Where): Promise<readonly string[]> {
  const { result } = await ask(house, where, list());
  return result.tools.map((entry: Json) => entry.name).filter((name: string) => !name.startsWith('b__'));
}

const { properties } = find.inputSchema;
const without = (argument: string): Json => {
  const { [argument]: _left, ...rest } = properties;
  return { ...find, inputSchema: { ...find.inputSchema, properties: rest } };
};
const withSchema = (more: object): Json => ({ ...find, inputSchema: { ...find.inputSchema, ...more } });

const misfits: readonly { readonly name: string; readonly tool: Json; readonly why: string }[] = [
  { name: 'the fixed argument is gone', tool: without('region'), why: 'it has no argument `region`' },
  { name: 'the default argument is gone', tool: without('limit'), why: 'it has no argument `limit`' },
  {
    name: 'the value is not one of the allowed ones',
    tool: withSchema({ properties: { ...properties, region: { enum: ['us'] } } }),
    why: 'the value for `region` is not valid there: it is not one of the values in `enum`',
  },
  {
    name: 'the value is too large',
    tool: withSchema({ properties: { ...properties, limit: { type: 'integer', maximum: 9 } } }),
    why: 'the value for `limit` is not valid there: it is out of bounds',
  },
  {
    name: 'another part of the schema depends on the fixed argument',
    tool: withSchema({ anyOf: [{ required: ['region'] }, { required: ['text'] }] }),
    why: '`anyOf` of its input schema depends on `region`',
  },
  {
    name: 'another argument differs only in case',
    tool: withSchema({ properties: { ...properties, Region: { type: 'string' } } }),
    why: 'its input schema is ambiguous: Region differs from region only in case',
  },
  { name: 'there is no schema', tool: { name: 'find' }, why: 'it has no input schema' },
  {
    name: 'the entry is huge',
    tool: { ...find, note: 'x'.repeat(300_000) },
    why: 'it is larger than 256 KiB',
  },
];

describe.each(wheres)('at the %s endpoint', verifies('gateway:overrides:misfit'), (where) => {
  it.each(misfits)('a tool is neither listed nor called where $name, and that is told once', async ({ tool, why }) => {
    const house = await openOverridden({ tools: [tool, other] });
    for (let round = 0; round < 2; round++) expect(await names(house, where)).toEqual([named(where, 'other')]);
    const { error } = await ask(house, where, call(named(where, 'lookup'), { text: 'a' }));
    expect(error).toMatchObject({ code: -32603, data: { reason: 'override_misfit' } });
    expect(house.a.of('tools/call')).toEqual([]);
    const facts = { endpoint: paths[where], backend: 'a', tool: 'find' };
    const told = tellings(house).filter(({ backend, tool: own }) => backend === 'a' && own === 'find');
    expect(told).toEqual([{ ...facts, why: `it is not listed: its override does not fit, because ${why}` }]);
    house.offered.tools = [find, other];
    expect(await names(house, where)).toEqual([named(where, 'lookup'), named(where, 'other')]);
    expect((await ask(house, where, call(named(where, 'lookup'), { text: 'a' }))).result).toBeDefined();
  });

  it('an override of a tool that is gone is told, and nothing takes the name', async () => {
    const house = await openOverridden({ tools: [other, { ...find, name: 'lookup' }] });
    expect(await names(house, where)).toEqual([named(where, 'other')]);
    const { error } = await ask(house, where, call(named(where, 'lookup'), { text: 'a' }));
    expect(error.message).toBe(`Unknown tool: ${named(where, 'lookup')}`);
    expect(house.a.of('tools/call')).toEqual([]);
    expect(
      tellings(house)
        .filter(({ backend }) => backend === 'a')
        .map(({ tool: own, why }) => [own, why])
        .sort(),
    ).toEqual([
      ['find', 'it has an override, and the backend does not list it'],
      ['lookup', 'it is not listed: the config gives its name to `find`'],
      ['purge', 'it has an override, and the backend does not list it'],
    ]);
  });

  it('a backend does not take over a name by adding a tool that has it', async () => {
    const taking = { ...other, name: 'lookup', description: 'mine' };
    const house = await openOverridden({ tools: [taking, find, other] });
    expect(await names(house, where)).toEqual([named(where, 'lookup'), named(where, 'other')]);
    expect((await ask(house, where, call(named(where, 'lookup'), { text: 'a' }))).result.content[0].text).toBe('find');
  });

  it('a tool whose name differs only in case from an overridden one is not there', async () => {
    const likes = ['FIND', 'Purge', 'fınd'].map((name) => ({ ...other, name }));
    const house = await openOverridden({ tools: [...likes, find, purge] });
    expect(await names(house, where)).toEqual([named(where, 'lookup')]);
    for (const { name } of likes) {
      const { error } = await ask(house, where, call(named(where, name)));
      expect(error.data.reason).toBe('invalid_params');
    }
    expect(house.a.of('tools/call')).toEqual([]);
  });

  it('names that objects have by nature are ordinary', async () => {
    const house = await openOverridden({
      tools: ['constructor', 'toString', 'hasOwnProperty'].map((name) => ({
        ...other,
        name,
        inputSchema: { type: 'object', properties: { constructor: { type: 'string' }, text: {} } },
      })),
      overrides: {
        tools: { constructor: { name: 'valueOf', arguments: { constructor: { fix: 'x' } } }, toString: { hide: true } },
      },
    });
    expect(await names(house, where)).toEqual([named(where, 'valueOf'), named(where, 'hasOwnProperty')]);
    const body = JSON.stringify(modern(call(named(where, 'valueOf'), { text: 1 })).body);
    const { headers = {} } = modern(call(named(where, 'valueOf')));
    const hostile = body.replace('"text":1', '"text":1,"__proto__":{"constructor":"y"}');
    const answer = await send(`${house.gateway.origin}${paths[where]}`, { headers, body: hostile });
    expect(answer.json().result).toBeDefined();
    expect(house.a.of('tools/call')[0]?.text).toContain(
      '"arguments":{"text":1,"__proto__":{"constructor":"y"},"constructor":"x"}',
    );
  });

  const spelled: readonly { readonly name: string; readonly args: string; readonly reason: string }[] = [
    { name: 'another case', args: '{"REGION":"us"}', reason: 'fixed_argument' },
    { name: 'a letter that folds to the same', args: '{"regıon":"us"}', reason: 'fixed_argument' },
    { name: 'an escape', args: '{"reg\\u0069on":"us"}', reason: 'fixed_argument' },
    { name: 'null', args: '{"region":null}', reason: 'fixed_argument' },
    { name: 'twice', args: '{"region":"us","region":"eu"}', reason: 'ambiguous_json' },
    { name: 'a default in another case', args: '{"Limit":1}', reason: 'ambiguous_json' },
    { name: 'no object', args: '["region"]', reason: 'invalid_params' },
    { name: 'no arguments at all', args: 'null', reason: 'invalid_params' },
  ];
  it.each(spelled)(
    'arguments with $name are refused: $reason',
    verifies('gateway:overrides:refused-argument'),
    async ({ args, reason }) => {
      const house = await openOverridden();
      const { headers = {}, body } = modern(call(named(where, 'lookup')));
      const text = JSON.stringify(body).replace('"arguments":{}', `"arguments":${args}`);
      const answer = await send(`${house.gateway.origin}${paths[where]}`, { headers, body: text });
      expect(answer.json().error.data.reason).toBe(reason);
      expect(house.a.of('tools/call')).toEqual([]);
    },
  );

  it('arguments keep their spelling', verifies('gateway:overrides:arguments'), async () => {
    const house = await openOverridden();
    const { headers = {}, body } = modern(call(named(where, 'lookup')));
    const given = '{ "text" : 1.0e0, "b":12345678901234567890 , "a": "\\u00e9" }';
    const text = JSON.stringify(body).replace('"arguments":{}', `"arguments":${given}`);
    await send(`${house.gateway.origin}${paths[where]}`, { headers, body: text });
    const added = ',"region":"eu","limit":10';
    expect(house.a.of('tools/call')[0]?.text).toContain(`"arguments":${given.slice(0, -2)}${added} }`);
  });

  it('arguments that a client leaves out are made', verifies('gateway:overrides:arguments'), async () => {
    const house = await openOverridden();
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: named(where, 'lookup') } };
    await ask(house, where, body);
    expect(house.a.of('tools/call')[0]?.message.params.arguments).toEqual({ region: 'eu', limit: 10 });
  });

  it('a tool that is hidden and renamed is hidden', verifies('gateway:overrides:names'), async () => {
    const given = { tools: { find: { name: 'lookup', title: 'x', hide: true } } };
    const house = await openOverridden({ overrides: given });
    expect(await names(house, where)).toEqual([named(where, 'purge'), named(where, 'other')]);
    for (const name of ['find', 'lookup'])
      expect((await ask(house, where, call(named(where, name)))).result?.content[0].text).toBe(
        name === 'find' ? undefined : 'lookup',
      );
  });
});

it(
  'a list of several pages is told of as a whole',
  verifies('gateway:overrides:misfit', 'gateway:overrides:lists'),
  async () => {
    const pages: Record<string, object> = { '': { tools: [other], nextCursor: '2' }, '2': { tools: [find] } };
    const house = await openOverridden({
      script: {
        'tools/list': (turn) =>
          turn.result({
            ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
            ...pages[turn.message.params.cursor ?? ''],
          }),
      },
    });
    const first = await ask(house, 'single', list());
    expect(tellings(house)).toEqual([]);
    const second = await ask(house, 'single', { ...list(), params: { cursor: first.result.nextCursor } });
    expect(second.result.tools.map((entry: Json) => entry.name)).toEqual(['lookup']);
    expect(tellings(house).map(({ tool: own }) => own)).toEqual(['purge']);
  },
);

describe.each(eras)('a %s client', verifies('gateway:overrides:reload'), (era) => {
  it.each(['/mcp', '/servers/a/mcp'])('at %s gets changed overrides after a reload, and is notified', async (path) => {
    const a = await openShop('modern', 'a', { tools: [tool('one'), tool('two')] });
    const b = await openShop('modern', 'b', { tools: [] });
    const config = (overrides: object) => ({
      backends: { a: { url: a.backend.url, overrides }, b: { url: b.backend.url } },
    });
    const gateway = await startGateway(config({ tools: { one: { hide: true } } }));
    const guest = await enter(era, `${gateway.origin}${path}`);
    const stream = await guest.listen({ toolsListChanged: true });
    const all = async () => (await guest.all('tools/list')).map((entry) => entry.name.replace('a__', ''));
    expect(await all()).toEqual(['two']);
    gateway.reload(config({ tools: { two: { name: 'three' } } }));
    await until(() => heard(stream, 'notifications/tools/list_changed').length > 0, 'the change was told');
    expect(await all()).toEqual(['one', 'three']);
    gateway.reload(config({}));
    await until(() => heard(stream, 'notifications/tools/list_changed').length > 1, 'the change was told');
    expect(await all()).toEqual(['one', 'two']);
    expect(gateway.assembled.currentGeneration.now.backends.get('a')).toBeDefined();
    // The backend is the same one: nothing but the lists has changed.
    expect(a.backend.of('server/discover').length).toBeLessThanOrEqual(2);
  });
});
