/** Thousands of arguments take a second to parse and to compare: they are not looked at, and so cannot be judged. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, type House, openHouse, ways } from './setup.ts';

const all = { id: 'all', effect: 'allow' };
const heard = ({ a, b }: House) => [...a.of('tools/call'), ...b.of('tools/call')].length;
const many = Object.fromEntries(Array.from({ length: 16_400 }, (_, at) => [`k${at}`, 0]));
const long = 'one, two, "three", \\ four, '.repeat(5_000);

const rules = {
  'with.arguments': { with: { arguments: { mode: { equals: 'delete' } } } },
  when: { when: "has(arguments.mode) && arguments.mode == 'delete'" },
};

describe('a call with more arguments than can be looked at', verifies('gateway:policy:crowds'), () => {
  describe.each(ways)('over $name', (way) => {
    const name = way.where === 'merged' ? 'a__delete_file' : 'delete_file';

    it.each(Object.keys(rules) as (keyof typeof rules)[])('is denied by a rule that denies with %s', async (kind) => {
      const house = await openHouse({
        more: { policy: { rules: [all, { id: 'no', effect: 'deny', what: ['call'], ...rules[kind] }] } },
      });
      const client = await way.enter(house);
      expect((await client.ask(call(name, many))).error?.code).toBe(403);
      expect((await client.ask(call(name, { list: Object.keys(many) }))).error?.code).toBe(403);
      expect(heard(house)).toBe(0);
      expect((await client.ask(call(name, { mode: 'read', text: long }))).result).toBeDefined();
    });

    it('is not allowed by a rule that allows', async () => {
      const allowing = {
        id: 'some',
        effect: 'allow',
        what: ['call'],
        when: "!has(arguments.mode) || arguments.mode == 'read'",
      };
      const house = await openHouse({ more: { policy: { rules: [allowing] } } });
      const client = await way.enter(house);
      expect((await client.ask(call(name, many))).error?.code).toBe(403);
      expect(heard(house)).toBe(0);
      expect((await client.ask(call(name, { text: long }))).result).toBeDefined();
    });
  });
});
