/** Names in rules that no backend has are told of, once, when it is known what there is. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { openHouse, paths } from './setup.ts';

const rules = [
  { id: 'right', effect: 'allow', on: { tools: ['a__read_file', 'list_files'] } },
  { id: 'slip', effect: 'deny', on: { tools: ['a__delet_file', '*delet*'] } },
  { id: 'own', effect: 'deny', on: { endpoints: ['/mcp'], tools: ['delete_file'] } },
  { id: 'there', effect: 'allow', on: { endpoints: ['/one/*'], tools: ['delete_file', 'a__delete_file'] } },
  { id: 'prompts', effect: 'deny', on: { prompts: ['nobody_has_it'] } },
];

it(
  'rules with unmatched names get a warning after the lists were read',
  verifies('gateway:policy:commands'),
  async () => {
    const house = await openHouse({ more: { policy: { rules } } });
    const told = () =>
      house.gateway.log
        .filter(({ text }) => text === 'a rule names an item that no backend has')
        .map(({ level, facts }) => ({ level, ...facts }));
    const list = () => send(`${house.gateway.origin}${paths.merged}`, modern({ method: 'tools/list' }));
    expect(told()).toEqual([]);
    await list();
    const expected = [
      { rule: 'slip', name: 'a__delet_file' },
      { rule: 'there', name: 'a__delete_file' },
    ].map(({ rule, name }) => ({
      level: 'warn',
      rule,
      why: `names \`${name}\`, which is not among the tools`,
    }));
    expect(told()).toEqual(expected);
    await list();
    expect(told()).toEqual(expected);
  },
);

it(
  'for a backend that is alone behind its endpoint its own list decides, page by page',
  verifies('gateway:policy:commands'),
  async () => {
    const pages: Readonly<Record<string, object>> = {
      first: { tools: [{ name: 'read_file', inputSchema: { type: 'object' } }], nextCursor: 'second' },
      second: { tools: [{ name: 'list_files', inputSchema: { type: 'object' } }] },
    };
    const script: Script = {
      'tools/list': (turn) =>
        turn.result({
          ...{ resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' },
          ...pages[turn.message.params.cursor ?? 'first'],
        }),
    };
    const names = ['read_file', 'list_files', 'delet_file'];
    const alone = [{ id: 'alone', effect: 'allow', on: { endpoints: [paths.single], tools: names } }];
    const house = await openHouse({ script, more: { policy: { rules: alone } } });
    const told = () => house.gateway.log.filter(({ text }) => text === 'a rule names an item that no backend has');
    const list = (params: Readonly<Record<string, unknown>>) =>
      send(`${house.gateway.origin}${paths.single}`, modern({ method: 'tools/list', params }));
    await list({});
    expect(told()).toEqual([]);
    await list({ cursor: 'second' });
    const why = 'names `delet_file`, which is not among the tools';
    expect(told().map(({ facts }) => facts)).toEqual([{ rule: 'alone', why }]);
    await list({});
    await list({ cursor: 'second' });
    expect(told()).toHaveLength(1);
  },
);
