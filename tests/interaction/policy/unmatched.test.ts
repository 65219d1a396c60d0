/** Names in rules that no backend has are told of, once, when it is known what there is. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { openHouse, paths } from './setup.ts';

const rules = [
  { id: 'right', effect: 'allow', on: { tools: ['a__read_file', 'list_files'] } },
  { id: 'slip', effect: 'deny', on: { tools: ['a__delet_file', '*delet*'] } },
  { id: 'there', effect: 'deny', on: { endpoints: ['/one/*'], tools: ['delete_file', 'a__delete_file'] } },
  { id: 'prompts', effect: 'deny', on: { prompts: ['nobody_has_it'] } },
];

it(
  'rules with names that nobody has are warned of after the lists were read',
  verifies('gateway:policy:commands'),
  async () => {
    const house = await openHouse({ more: { policy: { rules } } });
    const told = () =>
      house.gateway.log
        .filter(({ text }) => text === 'a rule names what no backend has')
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
      why: `names \`${name}\`, and there is nothing of that name among the tools`,
    }));
    expect(told()).toEqual(expected);
    await list();
    expect(told()).toEqual(expected);
  },
);
