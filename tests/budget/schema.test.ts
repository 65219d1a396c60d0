/** Which arguments are told to be wrong, by which schemas. */
import { expect, it } from 'vitest';
import { wrongArguments } from '../../src/budget/check.ts';
import { verifies } from '../requirements/verifies.ts';

function problems(inputSchema: unknown, value: unknown): readonly string[] | undefined {
  const bytes = Buffer.from(JSON.stringify(value));
  const entry = Buffer.from(JSON.stringify({ name: 'x', inputSchema }));
  return wrongArguments(entry, { bytes, span: { start: 0, end: bytes.byteLength } })?.problems;
}

const string = { type: 'string' };

it.each([
  { name: 'a missing one', schema: { required: ['a'] }, value: {} },
  { name: 'a type', schema: { properties: { a: string } }, value: { a: 1 } },
  { name: 'an additional one', schema: { properties: { a: string }, additionalProperties: false }, value: { b: 1 } },
  { name: 'a value out of a list', schema: { properties: { a: { enum: ['x', 'y'] } } }, value: { a: 'z' } },
  { name: 'an item', schema: { properties: { a: { items: string } } }, value: { a: ['x', 1] } },
  {
    name: 'what a reference says',
    schema: { properties: { a: { $ref: '#/$defs/s' } }, $defs: { s: string } },
    value: { a: 1 },
  },
  { name: 'no alternative', schema: { anyOf: [{ required: ['a'] }, { required: ['b'] }] }, value: { c: 1 } },
  { name: 'the name of an inherited member', schema: { required: ['toString'] }, value: {} },
  { name: 'no object', schema: { type: 'object' }, value: [1] },
])('$name is wrong', verifies('gateway:budget:arguments'), ({ schema, value }) => {
  expect(problems(schema, value)).not.toBeUndefined();
});

it.each([
  { name: 'right ones', schema: { properties: { a: string }, required: ['a'] }, value: { a: 'x' } },
  { name: 'a member called __proto__', schema: { properties: { a: string } }, value: JSON.parse('{"__proto__":1}') },
  { name: 'what a pattern would refuse', schema: { properties: { a: { pattern: '^x$' } } }, value: { a: 'y' } },
  {
    name: 'what only a pattern allows',
    schema: { patternProperties: { '^x-': string }, additionalProperties: false },
    value: { 'x-a': 'y' },
  },
  {
    name: 'what a reference below not would refuse',
    schema: { properties: { a: { not: { $ref: '#/$defs/s' } } }, $defs: { s: { pattern: '^x$' } } },
    value: { a: 'y' },
  },
  { name: 'a reference that leads nowhere', schema: { $ref: '#/$defs/none' }, value: {} },
  {
    name: 'a divisor with a large exponent',
    schema: { properties: { a: { multipleOf: 1e-300 } } },
    value: { a: 1e300 },
  },
  {
    name: 'more values than are checked',
    schema: { properties: { a: { items: string } } },
    value: { a: Array.from({ length: 5_000 }, (_, at) => at) },
  },
])('$name pass', verifies('gateway:budget:hostile-schema'), ({ schema, value }) => {
  expect(problems(schema, value)).toBeUndefined();
});

it('a schema of a thousand levels is not used', verifies('gateway:budget:hostile-schema'), () => {
  let schema: object = { type: 'string' };
  for (let level = 0; level < 1_000; level++) schema = { properties: { a: schema } };
  expect(problems(schema, { a: 1 })).toBeUndefined();
});

it('many arguments against many alternatives cost bounded work', verifies('gateway:budget:hostile-schema'), () => {
  const anyOf = Array.from({ length: 2_000 }, (_, at) => ({ enum: ['x'.repeat(100), at] }));
  const value = { a: Array.from({ length: 2_000 }, () => 'y') };
  expect(problems({ properties: { a: { items: { anyOf } } } }, value)).toBeUndefined();
});
