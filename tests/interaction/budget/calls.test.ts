/** Calls of tools that were listed without their schema. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter } from '../catalog/setup.ts';
import { send } from '../harness/client.ts';
import { eras, modern } from '../harness/eras.ts';
import { openHouse, paths } from '../policy/setup.ts';
import { bulky, openBudgeted } from './setup.ts';

const evil = {
  'an expression that backtracks': { type: 'object', properties: { id: { type: 'string', pattern: '^(a+)+$' } } },
  'references that branch': {
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`d${at}`, { allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${at + 1}` })) }]),
    ),
  },
  'a reference to itself': { type: 'object', allOf: [{ $ref: '#' }] },
  'a reference to another host': { type: 'object', properties: { id: { $ref: 'http://127.0.0.1:9/schema' } } },
  'a pattern where less is more': { type: 'object', properties: { id: { not: { pattern: '^(a+)+$' } } } },
  nonsense: { type: 'object', properties: 7, required: 'x' },
};

describe.each(eras)('for a %s client', (era) => {
  it.each([true, false])(
    'wrong arguments get the schema and reach no backend (merged: %s)',
    verifies('gateway:budget:arguments'),
    async (merged) => {
      const { gateway, shops } = await openBudgeted(era, { merged });
      const guest = await enter(era, gateway.url());
      const name = merged ? 'office__weigh_parcel' : 'weigh_parcel';
      for (const args of [{}, { id: 'seven' }]) {
        const { result } = await guest.ask('tools/call', { name, arguments: args });
        expect(result.isError).toBe(true);
        expect(result.content[0].text).toContain(JSON.stringify(bulky('weigh_parcel', 'x').inputSchema));
      }
      expect(shops[0]?.backend.of('tools/call')).toEqual([]);
      const { result } = await guest.ask('tools/call', { name, arguments: { id: 7 } });
      expect(result.content[0].text).toMatch(/^office: .*"weigh_parcel"/);
    },
  );

  it('arguments of a whole entry are the backend’s own matter', verifies('gateway:budget:arguments'), async () => {
    const { gateway, shops } = await openBudgeted(era, { tokens: 100_000 });
    const guest = await enter(era, gateway.url());
    await guest.ask('tools/call', { name: 'office__weigh_parcel', arguments: { id: 'seven' } });
    expect(shops[0]?.backend.of('tools/call')).toHaveLength(1);
  });
});

it.each(Object.entries(evil))(
  'a schema with %s holds nobody up, and the call goes on',
  verifies('gateway:budget:hostile-schema'),
  async (_name, inputSchema) => {
    const goods = { tools: [bulky('do_evil', 'Does evil', { inputSchema })] };
    const { gateway, shops } = await openBudgeted('modern', { merged: false, tokens: 1, goods });
    const guest = await enter('modern', gateway.url());
    const args = { id: `${'a'.repeat(5_000)}!` };
    const { result } = await guest.ask('tools/call', { name: 'do_evil', arguments: args });
    expect(result.isError).toBeUndefined();
    expect(shops[0]?.backend.of('tools/call')).toHaveLength(1);
  },
);

it('who may not call a tool does not learn its schema', verifies('gateway:budget:arguments'), async () => {
  const tools = [bulky('read_file', 'Reads a file'), bulky('delete_file', 'Deletes a file')];
  const house = await openHouse({
    endpoint: { budget: { tokens: 1 } },
    script: { 'tools/list': (turn) => turn.result({ resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' }) },
    more: { policy: { rules: [{ id: 'r', effect: 'allow', what: ['call'], on: { tools: ['*read_file'] } }] } },
  });
  const call = (name: string) =>
    send(
      `${house.gateway.origin}${paths.single}`,
      modern({ id: 1, method: 'tools/call', params: { name, arguments: {} } }),
    );
  expect((await call('read_file')).json().result.isError).toBe(true);
  const denied = await call('delete_file');
  expect(denied.json().error.data.reason).toBe('policy_denied');
  expect(denied.body).not.toContain('integer');
});

it.each([true, false])(
  'what overrides make of a tool is listed, found and checked (merged: %s)',
  verifies('gateway:budget:arguments', 'gateway:budget:find'),
  async (merged) => {
    const weigh = { name: 'weigh', description: 'Puts a parcel on the scales', arguments: { id: { fix: 7 } } };
    const overrides = { office: { tools: { weigh_parcel: weigh, send_letter: { hide: true } } } };
    const { gateway, shops } = await openBudgeted('modern', { merged, tokens: 1, endpoint: { overrides } });
    const guest = await enter('modern', gateway.url());
    const name = merged ? 'office__weigh' : 'weigh';
    const listed = await guest.all('tools/list');
    expect(listed.find((tool) => tool.name === name)).toMatchObject({ description: weigh.description });
    const find = async (query: string) =>
      JSON.stringify(await guest.ask('tools/call', { name: 'find_tools', arguments: { query } }));
    expect(await find('put on the scales')).toContain(`"name":"${name}"`);
    for (const query of ['send_letter', 'send a letter', 'weigh_parcel'])
      expect(await find(query)).not.toMatch(/send_letter|weigh_parcel/);
    await guest.ask('tools/call', { name, arguments: {} });
    expect(shops[0]?.backend.of('tools/call').at(-1)?.message.params).toMatchObject({
      name: 'weigh_parcel',
      arguments: { id: 7 },
    });
  },
);
