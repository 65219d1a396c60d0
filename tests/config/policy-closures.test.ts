import { Environment } from '@marcbachmann/cel-js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { closureOf } from '../../src/config/policy-closures.ts';
import { compileCondition } from '../../src/config/policy-condition.ts';
import { Evaluation } from '../../src/policy/question.ts';
import { encodePlainly } from '../../src/policy/spellings.ts';
import { local } from '../policy/setup.ts';

const texts = fc.constantFrom(
  ...['', 'a', 'b', 'ab', 'aB', 'é', 'e\u0301', '\ud800', '😀', '\0', '\u2028', '"', '\\', 'true', '1', 'null'],
  ...['__proto__', 'constructor', 'tool', '/mcp'],
);
const quoted = texts.map((text) => JSON.stringify(text).replaceAll('\\ud800', 'x'));
const read = fc.constantFrom(
  ...['arguments.a', 'arguments.b', 'arguments.a.b', 'arguments.a.b.a', 'arguments.constructor', 'arguments.size'],
  ...['arguments.__proto__', 'arguments.__proto__.a', 'arguments.constructor.name', 'arguments.a.length'],
  ...['name', 'kind', 'endpoint', 'backend', 'action'],
);
const literal = fc.oneof(
  { weight: 4, arbitrary: quoted },
  fc.constantFrom('true', 'false', '1', '1.0', '1u', 'null', "b'a'", "r'a'", 'name', '["a"]', '{}'),
);

/** Everything that becomes a closure, and things next to it that do not. */
const { condition } = fc.letrec<{ condition: string; leaf: string }>((tie) => ({
  leaf: fc.oneof(
    fc.tuple(read, fc.constantFrom('==', '!='), literal).map((parts) => parts.join(' ')),
    fc.tuple(read, fc.array(literal, { maxLength: 3 })).map(([of, all]) => `${of} in [${all.join(', ')}]`),
    fc
      .tuple(read, fc.constantFrom('contains', 'startsWith', 'endsWith'), quoted)
      .map(([of, test, text]) => `${of}.${test}(${text})`),
    fc.tuple(literal, fc.constantFrom('==', '!=', 'in'), read).map((parts) => parts.join(' ')),
  ),
  condition: fc.oneof(
    { maxDepth: 3 },
    tie('leaf'),
    tie('condition').map((inner) => `!(${inner})`),
    fc
      .tuple(tie('condition'), fc.constantFrom('&&', '||'), tie('condition'))
      .map(([one, by, other]) => `(${one} ${by} ${other})`),
  ),
}));

const long = 'a'.repeat(4_097);
const many = Array.from({ length: 256 }, () => Array.from({ length: 15 }, () => 1));
const wide = Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`n${at}`, at]));
const deep = Array.from({ length: 20 }).reduce<unknown>((inner) => ({ a: inner }), 'a');
const scalar = fc.oneof(
  { weight: 4, arbitrary: texts },
  fc.constantFrom<unknown>(
    true,
    false,
    null,
    1,
    -0,
    0.5,
    5e-324,
    2 ** 60,
    long,
    long.slice(1),
    many,
    wide,
    deep,
    [],
    ['a'],
    [null],
    {},
  ),
);
const names = fc.constantFrom('a', 'b', 'c', 'size', 'constructor', '__proto__');
const object = (value: fc.Arbitrary<unknown>) =>
  fc.array(fc.tuple(names, value), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));
const given = fc.oneof(
  { weight: 8, arbitrary: object(fc.oneof(scalar, object(fc.oneof(scalar, object(scalar))))) },
  fc.constantFrom<unknown>(
    [],
    ['a'],
    'a',
    { ...wide, a: 'a' },
    { m: many, n: many, a: 'a' },
    { a: 'a', m: [many, many] },
  ),
);

function evaluationOf(value: unknown, name: string): Evaluation {
  const thing = { kind: 'tool', name } as const;
  const asked = { principal: local, endpoint: '/mcp', backend: 'b', thing, arguments: () => value };
  return new Evaluation('call', asked, 'all', { groupsClaim: 'groups', trusted: new Set(), encode: encodePlainly });
}

/** Undefined if the text is no condition. */
function verdictOf(text: string, value: unknown, name: string): { readonly verdict: boolean | undefined } | undefined {
  const compiled = compileCondition(text);
  return 'problem' in compiled ? undefined : { verdict: compiled.evaluate(evaluationOf(value, name)) };
}

describe('a condition that becomes a closure', () => {
  test('says what the library says, for all facts', () => {
    fc.assert(
      fc.property(condition, given, texts, (text, value, name) => {
        // A conditional expression is left to the library.
        expect(verdictOf(text, value, name)).toEqual(verdictOf(`(${text}) ? true : false`, value, name));
      }),
      { numRuns: 5_000 },
    );
  });

  const parse = (text: string) =>
    new Environment().registerVariable('arguments', 'map').registerVariable('name', 'string').parse(text).ast;

  test.each([
    "arguments.text.contains('x')",
    "arguments.a.b != 'x' && !(name in ['a', 'b'])",
    "name.startsWith('a') || arguments.force == true",
  ])('is one of texts and literals: %s', (text) => {
    expect(closureOf(parse(text))).toBeTypeOf('function');
  });

  test.each([
    'size(arguments.a) > 1',
    'arguments.a == 1',
    "arguments['a'] == 'x'",
    'arguments.a == arguments.b',
    'has(arguments.a)',
  ])('is no other one: %s', (text) => {
    expect(closureOf(parse(text))).toBeUndefined();
  });
});
