/**
 * An argument of another JSON type than the rule speaks of cannot be judged: there are backends that take `"true"` for
 * `true`.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, type House, openHouse, ways } from './setup.ts';

const all = { id: 'all', effect: 'allow' };
const heard = ({ a, b }: House, method: string) => [...a.of(method), ...b.of(method)].length;

describe('an argument of another type than the rule has', () => {
  it.each(ways)(
    'over $name is denied by a rule that denies, and not allowed by one that allows',
    verifies('gateway:policy:types'),
    async (way) => {
      const name = way.where === 'merged' ? 'a__delete_file' : 'delete_file';
      const rule = (effect: string, equals: unknown) => ({
        ...{ id: effect, effect, what: ['call'], with: { arguments: { force: { equals } } } },
      });
      const denying = await openHouse({ more: { policy: { rules: [all, rule('deny', true)] } } });
      const client = await way.enter(denying);
      for (const force of ['true', 1, 'yes', [true, 'x'], {}, true]) {
        const { error } = await client.ask(call(name, { force }));
        expect([force, error?.code]).toEqual([force, 403]);
      }
      expect(heard(denying, 'tools/call')).toBe(0);
      for (const force of [false, null]) expect((await client.ask(call(name, { force }))).result).toBeDefined();
      const allowing = await openHouse({ more: { policy: { rules: [rule('allow', false)] } } });
      const other = await way.enter(allowing);
      for (const force of ['false', 0, 'no', null]) {
        const { error } = await other.ask(call(name, { force }));
        expect([force, error?.code]).toEqual([force, 403]);
      }
      expect(heard(allowing, 'tools/call')).toBe(0);
    },
  );

  const conditions = [
    {
      when: 'has(arguments.force) && arguments.force == true',
      denied: [{ force: 'true' }, { force: 1 }, { force: 'yes' }, { force: [true] }, { force: {} }, { force: true }],
      passed: [{ force: false }, { force: null }, {}],
    },
    {
      when: "has(arguments.mode) && arguments.mode in ['delete', 'drop']",
      denied: [{ mode: ['delete'] }, { mode: 1 }, { mode: true }, { mode: { a: 1 } }, { mode: 'drop' }],
      passed: [{ mode: 'read' }, { mode: null }, {}],
    },
    {
      when: "has(arguments.tags) && arguments.tags.exists(tag, tag == 'secret')",
      denied: [{ tags: [['secret']] }, { tags: ['a', 'secret'] }, { tags: ['a', 1] }],
      passed: [{ tags: ['a'] }, { tags: [] }],
    },
    {
      when: "arguments.mode == 'rw' && arguments.force == true",
      denied: [{ mode: 'rw', force: 'true' }],
      passed: [{ mode: 'ro', force: 'true' }],
    },
    {
      when: 'has(arguments.flags) && arguments.flags == [true, false]',
      denied: [{ flags: ['true', false] }, { flags: [1, 0] }, { flags: [true, false] }],
      passed: [{ flags: [true] }, { flags: ['true', true] }, { flags: [null, false] }, {}],
    },
    {
      when: 'has(arguments.o) && arguments.o == {"force": true, "in": ["a"]}',
      denied: [
        { o: { force: 'true', in: ['a'] } },
        { o: { in: [['a']], force: 1 } },
        { o: { force: true, in: ['a'] } },
      ],
      passed: [{ o: { force: 'true', in: ['b'] } }, { o: { force: 'true' } }, { o: { force: 'true', to: ['a'] } }],
    },
    {
      when: 'arguments == {"force": true}',
      denied: [{ force: 'true' }, { force: [true] }, { force: true }],
      passed: [{ force: false }, { force: null }, { force: 'true', x: 1 }, {}],
    },
    {
      when: 'has(arguments.x) && [arguments.x] == ["a"]',
      denied: [{ x: ['a'] }, { x: 1 }, { x: 'a' }],
      passed: [{ x: 'b' }, {}],
    },
    {
      when: 'has(arguments.x) && arguments.x in [["a"], ["b"]]',
      denied: [{ x: [['a']] }, { x: [1] }, { x: 'a' }, { x: ['b'] }],
      passed: [{ x: ['c'] }, { x: [] }, {}],
    },
  ];
  describe.each(ways)('over $name', (way) => {
    const name = way.where === 'merged' ? 'a__delete_file' : 'delete_file';
    it.each(conditions)(
      'is denied by a rule that denies when $when',
      verifies('gateway:policy:types'),
      async ({ when, denied, passed }) => {
        const rules = [all, { id: 'no', effect: 'deny', what: ['call'], when }];
        const house = await openHouse({ more: { policy: { rules } } });
        const client = await way.enter(house);
        for (const given of denied) {
          expect([given, (await client.ask(call(name, given))).error?.code]).toEqual([given, 403]);
        }
        expect(heard(house, 'tools/call')).toBe(0);
        for (const given of passed) {
          expect([given, (await client.ask(call(name, given))).error]).toEqual([given, undefined]);
        }
      },
    );

    it.each([
      { when: "arguments.mode != 'delete'", denied: [['delete'], 1, true, 'delete'], allowed: ['read', null] },
      { when: "!(arguments.mode in ['delete'])", denied: [['delete'], 1, true, 'delete'], allowed: ['read', null] },
      { when: "[arguments.mode] != ['delete']", denied: [['delete'], 1, 'delete'], allowed: ['read', null] },
      { when: "arguments != {'mode': 'delete'}", denied: [['delete'], 1, 'delete'], allowed: ['read', null] },
    ])(
      'is not allowed by a rule that allows when $when',
      verifies('gateway:policy:types'),
      async ({ when, denied, allowed }) => {
        const house = await openHouse({
          more: { policy: { rules: [{ id: 'yes', effect: 'allow', what: ['call'], when }] } },
        });
        const client = await way.enter(house);
        for (const mode of denied) {
          expect([mode, (await client.ask(call(name, { mode }))).error?.code]).toEqual([mode, 403]);
        }
        expect(heard(house, 'tools/call')).toBe(0);
        for (const mode of allowed) expect((await client.ask(call(name, { mode }))).result).toBeDefined();
      },
    );
  });
});
