/**
 * Arguments in front of backends that ignore the case of names: to Go's `encoding/json`, `Force` is `force`, and the
 * last one wins. On what a rule looks at such a name is ambiguous: rules that deny apply, rules that allow do not.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { ask, openShop } from '../json-rpc/setup.ts';
import { call, named, openHouse, paths, ways } from './setup.ts';

const all = { id: 'all', effect: 'allow', what: ['call'] };
const deny = (more: object) => ({ policy: { rules: [all, { id: 'no', effect: 'deny', what: ['call'], ...more }] } });
const allow = (more: object) => ({ policy: { rules: [{ id: 'yes', effect: 'allow', what: ['call'], ...more }] } });

const noForce = deny({ with: { arguments: { force: { equals: true } } } });
const noForceCel = deny({ when: 'has(arguments.force) && arguments.force == true' });
const small = allow({ with: { arguments: { amount: { max: 100 } } } });
const smallCel = allow({ when: 'arguments.amount <= 100' });
const deep = deny({ when: "has(arguments.options) && arguments.options['force'] == true" });
const anyKey = deny({ when: "arguments.exists(k, k == 'force')" });
const inLists = deny({ when: 'arguments.items.exists(i, has(i.force) && i.force)' });

interface Case {
  readonly name: string;
  readonly config: object;
  readonly args: object;
  readonly passes: boolean;
}

const cases: readonly Case[] = [
  { name: 'a denied value under a duplicate key', config: noForce, args: { force: false, Force: true }, passes: false },
  { name: 'a denied value under another case alone', config: noForce, args: { Force: true }, passes: false },
  {
    name: 'a duplicate key in another case',
    config: noForce,
    args: { 'For\u0063e': 1, forc\u0065: false },
    passes: false,
  },
  { name: 'the name itself, harmless', config: noForce, args: { force: false, Other: 1, other: 2 }, passes: true },
  {
    name: 'duplicate keys that no rule reads',
    config: noForce,
    args: { headers: { Accept: 1, accept: 2 } },
    passes: true,
  },
  {
    name: 'a duplicate of a key that an allowing rule reads',
    config: small,
    args: { amount: 5, Amount: 500 },
    passes: false,
  },
  { name: 'another case of a key that an allowing rule reads', config: small, args: { AMOUNT: 5 }, passes: false },
  {
    name: 'a key that an allowing rule reads, and other duplicates',
    config: small,
    args: { amount: 5, a: 1, A: 2 },
    passes: true,
  },
  {
    name: 'a duplicate key in a denying condition',
    config: noForceCel,
    args: { force: false, Force: true },
    passes: false,
  },
  { name: 'another case in a condition that denies', config: noForceCel, args: { FORCE: true }, passes: false },
  { name: 'other duplicates in a denying condition', config: noForceCel, args: { a: { x: 1, X: 2 } }, passes: true },
  {
    name: 'a duplicate key in an allowing condition',
    config: smallCel,
    args: { amount: 5, amounT: 500 },
    passes: false,
  },
  {
    name: 'no duplicate key in an allowing condition',
    config: smallCel,
    args: { amount: 5, x: 1, X: 1 },
    passes: true,
  },
  { name: 'a duplicate key on the path', config: deep, args: { options: {}, Options: { force: true } }, passes: false },
  {
    name: 'a duplicate key at the end of the path',
    config: deep,
    args: { options: { force: false, Force: 1 } },
    passes: false,
  },
  {
    name: 'a duplicate key beside the path',
    config: deep,
    args: { options: { force: false, a: 1, A: 1 } },
    passes: true,
  },
  { name: 'another case where names are compared', config: anyKey, args: { Force: true }, passes: false },
  { name: 'a duplicate key anywhere, if all is read', config: anyKey, args: { a: [{ b: 1, B: 2 }] }, passes: false },
  {
    name: 'no duplicate key anywhere, if all is read',
    config: anyKey,
    args: { a: [{ b: 1 }, { B: 2 }] },
    passes: true,
  },
  { name: 'another case in an item', config: inLists, args: { items: [{ a: 1 }, { Force: true }] }, passes: false },
  { name: 'items without it', config: inLists, args: { items: [{ force: false }] }, passes: true },
  {
    name: 'the long s',
    config: deny({ with: { arguments: { users: { glob: 'x' } } } }),
    args: { 'user\u017f': 'y' },
    passes: false,
  },
  {
    name: 'the Kelvin sign',
    config: deny({ with: { arguments: { key: { present: true } } } }),
    args: { '\u212aey': 1 },
    passes: false,
  },
];

describe('arguments whose names differ in case alone', verifies('gateway:policy:case-twins'), () => {
  it.each(cases)('$name: passes $passes', async ({ config, args, passes }) => {
    const house = await openHouse({ more: { ...config } });
    const url = `${house.gateway.origin}${paths.single}`;
    const answer = (await send(url, modern(call('read_file', args)))).json();
    expect(answer.error?.data.reason).toBe(passes ? undefined : 'policy_denied');
    expect(house.a.of('tools/call')).toHaveLength(passes ? 1 : 0);
    if (passes) expect(house.a.of('tools/call')[0]?.message.params.arguments).toEqual(args);
  });

  it.each(ways)('are denied over $name', async ({ enter, where }) => {
    const house = await openHouse({ more: noForce });
    const client = await enter(house);
    const answer = await client.ask(call(named(where, 'read_file'), { force: false, Force: true }));
    expect(answer.error.data).toMatchObject({ reason: 'policy_denied', rules: ['no'] });
    expect(house.a.of('tools/call')).toHaveLength(0);
  });
});

describe('params of a JSON-RPC service', verifies('gateway:policy:case-twins'), () => {
  it.each([
    { given: { amount: 5 }, passes: true },
    { given: { amount: 5, Amount: 500 }, passes: false },
    { given: { Amount: 5 }, passes: false },
    { given: { amount: 5, labels: { A: 1, a: 2 } }, passes: true },
  ])('$given: passes $passes', async ({ given, passes }) => {
    const rule = { id: 'small', effect: 'allow', what: ['rpc'], with: { arguments: { amount: { max: 100 } } } };
    const shop = await openShop({ more: { policy: { rules: [rule] } } });
    const answer = await shop.post(ask('pay', given));
    expect(answer.json().result !== undefined).toBe(passes);
    expect(shop.service.bytes > 0).toBe(passes);
  });
});

describe('an argument that is mirrored in a header', verifies('gateway:policy:case-twins'), () => {
  const script: Script = {
    'tools/list': (turn) =>
      turn.result({
        resultType: 'complete',
        tools: [
          {
            name: 'routed',
            inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
          },
        ],
        ttlMs: 60_000,
        cacheScope: 'public',
      }),
  };
  const twins = { region: 'eu', Region: 'us' };

  it('is rejected with a duplicate key from a modern client', async () => {
    const house = await openHouse({ script });
    const url = `${house.gateway.origin}${paths.single}`;
    const headers = { 'mcp-param-region': 'eu' };
    const post = (args: object) =>
      send(url, modern({ method: 'tools/call', params: { name: 'routed', arguments: args }, headers }));
    expect((await post(twins)).json().error.code).toBe(-32020);
    expect(house.a.of('tools/call')).toHaveLength(0);
    expect((await post({ region: 'eu', other: 1, Other: 2 })).json().error).toBeUndefined();
  });

  it('is rejected with a duplicate key from a legacy client, whose header the gateway writes', async () => {
    const house = await openHouse({ script });
    const client = await connectLegacy(`${house.gateway.origin}${paths.single}`);
    const answer = (await client.post(call('routed', twins))).json();
    expect(answer.error.data.reason).toBe('ambiguous_json');
    expect(house.a.of('tools/call')).toHaveLength(0);
  });
});
