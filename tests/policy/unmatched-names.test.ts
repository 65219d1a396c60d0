import { expect, test } from 'vitest';
import type { ListView } from '../../src/catalog/view.ts';
import type { Endpoint } from '../../src/exchange/arrival.ts';
import { UnmatchedNames } from '../../src/policy/unmatched-names.ts';
import { settingsOf } from './setup.ts';

test('names are looked up until they are found or reported, and later lists are not read', () => {
  const told: unknown[] = [];
  const endpoint = { path: '/mcp', backends: ['files', 'mail'] } as unknown as Endpoint;
  const policy = settingsOf("policy: { rules: [{ id: r, effect: deny, on: { tools: [x, y, 'z*'] } }] }\n");
  const unmatched = new UnmatchedNames(policy, [endpoint], (_, { why }) => told.push(why));
  let looked = 0;
  const place = {
    ...{ backend: 'files', name: 'x' },
    get clientName() {
      looked += 1;
      return 'x';
    },
  };
  const view = { places: [place] } as unknown as ListView;
  unmatched.read(endpoint, 'tools', view);
  expect(told).toEqual(['names `y`, which is not among the tools']);
  expect(looked).toBe(1);
  unmatched.read(endpoint, 'tools', view);
  expect(told).toHaveLength(1);
  expect(looked).toBe(1);
});
