import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileCondition } from '../../src/config/policy-condition.ts';
import { bounded } from '../../src/policy/facts.ts';
import type { FactName } from '../../src/policy/rules.ts';
import { factsFrom } from '../policy/setup.ts';

describe('a condition', () => {
  const refused = [
    { text: "name.matches('(a+)+$')", says: 'its time is not bounded' },
    { text: 'cel.bind(x, name, x == x)', says: 'no function `bind`' },
    { text: 'arguments.a.all(x, arguments.b.all(y, x == y))', says: 'inside another loop is not allowed' },
    { text: 'arguments.a.all(x, [x].map(y, y).size() > 0)', says: 'inside another loop is not allowed' },
    { text: "timestamp('2026-01-01T00:00:00Z') > timestamp('2025-01-01T00:00:00Z')", says: 'no function `timestamp`' },
    { text: 'name', says: 'its result is string' },
    { text: 'arguments == {"constructor": true}', says: 'a map cannot have the key `constructor`' },
    { text: 'arguments.a == [{"b": {r"__proto__": 1}}]', says: 'a map cannot have the key `__proto__`' },
    { text: 'a'.repeat(5_000), says: 'too long' },
    { text: `${'('.repeat(100)}true${')'.repeat(100)}`, says: 'maxDepth' },
    { text: '', says: '' },
  ];
  for (const { text, says } of refused) {
    test(`${text.slice(0, 50)} is refused`, () => {
      const made = compileCondition(text);
      expect('problem' in made ? made.problem : 'accepted').toContain(says);
    });
  }

  test('may have one loop after another', () => {
    expect(compileCondition('arguments.a.filter(x, x > 1).all(y, y < 9)')).toHaveProperty(
      'reads',
      new Set(['arguments']),
    );
  });

  test('returns a result or none in bounded time, for any expression and any input', () => {
    const parts = fc.constantFrom(
      ...[
        'name',
        'arguments',
        'principal',
        '.a',
        '.b',
        '[0]',
        '[',
        ']',
        '(',
        ')',
        '"x"',
        '1',
        '1.5',
        '-',
        '!',
        'true',
        'null',
      ],
      ...[
        '==',
        '<',
        '&&',
        '||',
        '?',
        ':',
        '+',
        '*',
        '/',
        '%',
        ' in ',
        '.all(x, ',
        '.exists(x, ',
        '.map(x, ',
        'x',
        ', ',
      ],
      ...['size(', 'has(', '.contains(', '.glob(', '"*"', '{', '}', 'int(', 'string(', '__proto__', '.constructor'],
    );
    const expression = fc.oneof(
      fc.array(parts, { maxLength: 14 }).map((all) => all.join('')),
      fc.string(),
    );
    fc.assert(
      fc.property(expression, fc.jsonValue(), (text, value) => {
        const condition = compileCondition(text);
        if ('problem' in condition) return;
        const facts: Readonly<Record<FactName, unknown>> = {
          principal: bounded({ a: value }),
          arguments: bounded({ a: value, b: value, constructor: value }),
          annotations: new Map(),
          ...{ action: 'call', endpoint: '/mcp', backend: 'files', kind: 'tool', name: 'x' },
        };
        expect([true, false, undefined]).toContain(condition.evaluate(factsFrom((name) => facts[name])));
      }),
      { numRuns: 2_000 },
    );
  });

  test('over the largest arguments ends', () => {
    const condition = compileCondition('arguments.l.all(x, arguments.l.map(y, y).size() > 0)');
    expect(condition).toHaveProperty('problem');
    const linear = compileCondition('arguments.l.all(x, x in arguments.m && arguments.t.contains(x))');
    if ('problem' in linear) throw new Error(linear.problem);
    const items = Array.from({ length: 256 }, (_, at) => `${'a'.repeat(1_000)}${at}`);
    const value = bounded({ l: items, m: [...items].reverse(), t: 'a'.repeat(4_096) });
    expect(linear.evaluate(factsFrom(() => value))).toBe(false);
    const huge = bounded({ l: Array.from({ length: 1_000_000 }, () => 1) });
    expect(linear.evaluate(factsFrom(() => huge))).toBeUndefined();
  });

  test('has no result for input that is too large, whichever way it reads it', () => {
    const ways = [
      ...['V.all(x, x == 1)', 'V.exists(x, x == 1)', '!V.exists(x, x == 1)', 'V.exists_one(x, x == 1)'],
      ...['V.filter(x, true).size() == 0', 'V.map(x, 1).size() == 0', '1 in V', '!(1 in V)', 'V in [1]', '[V] == [1]'],
      ...['V == 1', 'V != 1', 'V == V', 'V != arguments.other', 'V == null', 'V != null', 'size(V) == 0', 'V < 1'],
      ...['has(V)', 'has(V.k)', 'type(V) == string', 'string(V) == "x"', 'V ? true : true', 'V', '!V', 'V.glob("*")'],
      ...['V.startsWith("")', 'V.k == 1', 'V[0] == 1', '{"a": V} == {"a": 1}', '[1, 2].all(x, x != V)'],
    ];
    const values = ['x'.repeat(5_000), Array.from({ length: 300 }, () => 1), Number.MAX_SAFE_INTEGER * 4, { deep: 1 }];
    for (const value of values) {
      const tooDeep = Array.from({ length: 20 }).reduce<unknown>((inner) => [inner], value);
      for (const way of ways) {
        const condition = compileCondition(way.replaceAll('V', 'arguments.v'));
        if ('problem' in condition) continue;
        for (const given of typeof value === 'object' && !Array.isArray(value) ? [] : [value]) {
          expect([way, condition.evaluate(factsFrom(() => bounded({ v: given, other: 2 })))]).toEqual([way, undefined]);
        }
        // One loop goes over the outermost list alone, and never gets to what is too deep.
        expect(() => condition.evaluate(factsFrom(() => bounded({ v: tooDeep })))).not.toThrow();
      }
    }
  });

  test('that throws an unexpected error has no result', () => {
    const condition = compileCondition('name == "x"');
    if ('problem' in condition) throw new Error(condition.problem);
    const broken = () => {
      throw new RangeError('broken');
    };
    expect(condition.evaluate(factsFrom(broken))).toBeUndefined();
  });
});
