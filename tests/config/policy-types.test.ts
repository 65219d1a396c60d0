import { Environment } from '@marcbachmann/cel-js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileCondition } from '../../src/config/policy-condition.ts';
import { bounded } from '../../src/policy/facts.ts';
import { factsFrom } from '../policy/setup.ts';

const library = new Environment({ homogeneousAggregateLiterals: false })
  .registerVariable('arguments', 'map')
  .registerVariable('name', 'string');

/** What the library says of the text as it stands. */
function asWritten(text: string, facts: ReadonlyMap<string, unknown>): unknown {
  try {
    return library.evaluate(text, facts);
  } catch {
    return undefined;
  }
}

function judged(text: string, facts: ReadonlyMap<string, unknown>): unknown {
  const condition = compileCondition(text);
  return 'problem' in condition ? undefined : condition.evaluate(factsFrom((fact) => facts.get(fact)));
}

const factsOf = (given: unknown) =>
  new Map<string, unknown>([
    ['arguments', bounded(given)],
    ['name', 'a'],
  ]);

/** Every argument has one type, and so has what it is compared with. */
const word = fc.constantFrom('a', 'b', "in 'a'", 'x // y', '\\', '');
const given = fc.record({
  s: word,
  t: word,
  b: fc.boolean(),
  l: fc.array(word, { maxLength: 3 }),
  ll: fc.array(fc.array(word, { maxLength: 2 }), { maxLength: 2 }),
  m: fc.dictionary(fc.constantFrom('a', 'b', 'each'), word, { maxKeys: 2 }),
});

const spelled = word.chain((text) => {
  const escaped = text.replaceAll('\\', '\\\\');
  return fc.constantFrom(
    `"${escaped}"`,
    `'${escaped.replaceAll("'", "\\'")}'`,
    `"""${escaped}"""`,
    ...(text.endsWith('\\') ? [] : [`r"${text}"`, `R"""${text}"""`]),
  );
});
const spaced = (text: string) => fc.constantFrom(text, ` ${text} `, `(${text})`, `\n// in == '\n${text}`);

/** Expressions by their type. In a loop there are its variable, and no other loop. */
const { whole } = fc.letrec<Record<'whole' | 'bool' | 'text' | 'list' | 'lists' | 'map', string>>((tie) => {
  const join = (...parts: (string | fc.Arbitrary<string>)[]) =>
    fc
      .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
      .map((all) => all.join(''))
      .chain(spaced);
  const some = (...all: fc.Arbitrary<string>[]) => fc.oneof({ maxDepth: 3, withCrossShrink: true }, ...all);
  const [bool, text, list, lists, map] = [tie('bool'), tie('text'), tie('list'), tie('lists'), tie('map')];
  const equals = fc.constantFrom(' == ', '!=');
  const each = fc.constantFrom('each', 'each_', 'same', 'x');
  const loop = each.chain((it) =>
    join('arguments.l.', fc.constantFrom('exists', 'all', 'exists_one'), `(${it}, ${it}`, equals, spelled, ')'),
  );
  const within = each.chain((it) =>
    join(`arguments.ll.exists(${it}, `, spelled, ` in ${it} || ${it} in [arguments.l, `, '[', spelled, ']])'),
  );
  return {
    whole: join('arguments.b == (', bool, ')'),
    bool: some(
      ...[fc.constantFrom('true', 'arguments.b', 'has(arguments.s)', 'has(arguments.m.a)', 'has(arguments.none)')],
      ...[join(text, equals, text), join(list, equals, list), join(map, equals, map), join(lists, equals, lists)],
      ...[join(text, ' in ', list), join(text, ' in ', map), join(list, ' in ', lists), loop, within],
      ...[
        join('((', bool, ')', equals, '(', bool, '))'),
        join('!(', bool, ')'),
        join('(', bool, ') in [true, ', bool, ']'),
      ],
      ...[join('(', bool, '&&', bool, ')'), join('(', bool, ' || ', bool, ')')],
      ...[join('(', bool, '?', bool, ':', bool, ')'), join('size(', text, ') + 1 < 2 * size(', list, ') - -1')],
    ),
    text: some(
      ...[fc.constantFrom('arguments.s', 'arguments["t"]', 'name'), spelled],
      ...[join('arguments.l[', fc.constantFrom('0', '1'), ']'), join('(', bool, ' ? ', text, ' : ', text, ')')],
      join('(', text, '+', text, ')'),
    ),
    list: some(
      ...[fc.constantFrom('arguments.l', 'arguments.ll[0]', '[]'), join('[', text, ',', text, ']')],
      ...[join('arguments.l.filter(x, x != ', spelled, ')'), join('arguments.l.map(x, x + ', spelled, ')')],
    ),
    lists: some(fc.constantFrom('arguments.ll', '[arguments.l]'), join('[', list, ', ', list, ',]')),
    map: some(
      fc.constantFrom('arguments.m', '{}'),
      join('{"a": ', text, ', ', fc.constantFrom('"b"', "'each'"), ':', text, '}'),
    ),
  };
});

describe('a condition on values of equal types', () => {
  test('is judged as the library judges it', () => {
    let decided = 0;
    fc.assert(
      fc.property(whole, given, (text, values) => {
        const facts = factsOf(values);
        const expected = asWritten(text, facts);
        if (typeof expected === 'boolean') decided += 1;
        expect([text, judged(text, facts)]).toEqual([text, expected]);
      }),
      { numRuns: 3_000 },
    );
    expect(decided).toBeGreaterThan(1_000);
  });

  test.each([
    ['arguments.n == 1', { n: 1 }, true],
    ['arguments.n == 1u', { n: 1 }, true],
    ['arguments.n in [2, 1]', { n: 1 }, true],
    ['arguments.l == [1, 2.5]', { l: [1, 2.5] }, true],
    ['arguments.l == [1, 2]', { l: [1, 2.5] }, false],
    ['arguments.m == {"n": [-1]}', { m: { n: [-1] } }, true],
    ['type(arguments.n) == double', { n: 1 }, true],
    ['type(arguments.n) == string', { n: 1 }, false],
    ['arguments.x == b"a"', { x: 'a' }, undefined],
    ['arguments.x in "abc"', { x: 'a' }, undefined],
    ['arguments.x in arguments.y', { x: 'a', y: 'abc' }, undefined],
    ['arguments.x in arguments.y', { x: 'a', y: { a: null } }, true],
    ['arguments.x in arguments.y', { x: 'constructor', y: {} }, false],
    ['arguments.x == null', { x: null }, true],
    ['arguments.l == [null]', { l: ['a'] }, false],
    ['arguments == {"a": 1, "b": arguments.b}', { a: 1, b: { c: [] } }, true],
  ])('%s with %j is %s', (text, values, expected) => {
    expect(judged(text, factsOf(values))).toBe(expected);
  });

  test('cannot be judged where both have something too large at the same place', () => {
    const large = ['a', 'b'.repeat(5_000)];
    expect(judged('arguments.l == arguments.k', factsOf({ l: large, k: large }))).toBeUndefined();
  });

  test.each([
    ['arguments.l == ["a", true]', ['b', 'true'], false],
    ['arguments.l == ["a", true]', ['a', 'true'], undefined],
    ['arguments.l == [true, "a"]', ['true', 'b'], false],
    ['arguments.l != [true, "a"]', ['true', 'b'], true],
    ['arguments.l == [[true], "a"]', [['true'], 'a'], undefined],
    ['arguments.l == [true]', ['true', 'true'], false],
    ['"a" in arguments.l', [1, 'a'], true],
    ['"a" in arguments.l', [1, 'b'], undefined],
  ])('%s with other types in %j is %s', (text, l, expected) => {
    expect(judged(text, factsOf({ l }))).toBe(expected);
  });
});
