import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { ObjectSpan } from '../../src/wire/message.ts';
import { idAt, isInteger, member, nameAt, slice, stringAt, textAt, valueAt } from '../../src/wire/values.ts';
import { awkwardText, holds, spell, spelling } from './property.ts';

/** The text in the middle of other bytes, to show that nothing reads past a span. */
function place(text: string): { bytes: Uint8Array; span: { start: number; end: number } } {
  const bytes = new Uint8Array([0x5c, 0x22, ...Buffer.from(text), 0x5c, 0x22, 0x31]);
  return { bytes, span: { start: 2, end: bytes.byteLength - 3 } };
}

describe('ids', () => {
  const cases: readonly { input: string; expect: { raw: string; key: string } | undefined }[] = [
    { input: '0', expect: { raw: '0', key: 'n0' } },
    { input: '-0', expect: { raw: '-0', key: 'n0' } },
    { input: '"0"', expect: { raw: '"0"', key: 's0' } },
    { input: '123456789', expect: { raw: '123456789', key: 'n123456789' } },
    { input: '12345678901234567890', expect: { raw: '12345678901234567890', key: 'n12345678901234567890' } },
    { input: '-7', expect: { raw: '-7', key: 'n-7' } },
    { input: '"\\u0061é"', expect: { raw: '"\\u0061é"', key: 'saé' } },
    { input: '""', expect: { raw: '""', key: 's' } },
    { input: '1.0', expect: undefined },
    { input: '1e3', expect: undefined },
    { input: '01', expect: undefined },
    { input: '-', expect: undefined },
    { input: 'null', expect: undefined },
    { input: 'true', expect: undefined },
    { input: '{}', expect: undefined },
    { input: '[1]', expect: undefined },
    { input: '"\\x"', expect: undefined },
    { input: '', expect: undefined },
  ];
  test.each(cases)('$input', ({ input, expect: expected }) => {
    const { bytes, span } = place(input);
    expect(idAt(bytes, span)).toEqual(expected);
  });

  test('are equal exactly where their values are', () => {
    const id = fc.oneof(fc.integer(), awkwardText);
    holds(
      fc.property(id, spelling, id, spelling, (a, aHow, b, bHow) => {
        const [one, other] = [place(spell(a, aHow)), place(spell(b, bHow))];
        const keys = [idAt(one.bytes, one.span)?.key, idAt(other.bytes, other.span)?.key];
        expect(keys[0] === keys[1]).toBe(a === b);
      }),
    );
  });
});

test('integers are those spelled without fraction and exponent', () => {
  for (const text of ['0', '-0', '7', '-7', '9'.repeat(400)]) {
    const { bytes, span } = place(text);
    expect(isInteger(bytes, span)).toBe(true);
  }
  for (const text of ['', '-', '00', '-01', '1.0', '1e2', '"1"', 'a', '1 ', '--1']) {
    const { bytes, span } = place(text);
    expect(isInteger(bytes, span)).toBe(false);
  }
});

test('strings come decoded, and only strings do', () => {
  holds(
    fc.property(fc.oneof(awkwardText, fc.string({ minLength: 60, maxLength: 90 })), spelling, (text, how) => {
      const { bytes, span } = place(spell(text, how));
      expect(stringAt(bytes, span)).toBe(text);
      expect(nameAt(bytes, span.start + 1, span.end - 1)).toBe(text);
      expect(nameAt(bytes, span.start + 1, span.end - 1)).toBe(text);
    }),
    1500,
  );
  for (const text of ['1', 'null', '{"a":1}', '[]', '"', '']) {
    const { bytes, span } = place(text);
    expect(stringAt(bytes, span)).toBeUndefined();
  }
});

test('values are parsed, members named __proto__ among them', () => {
  const { bytes, span } = place('{"__proto__":{"a":1},"b":[1.0]}');
  const value = valueAt(bytes, span) as Record<string, unknown>;
  expect(Object.keys(value)).toEqual(['__proto__', 'b']);
  expect(value.a).toBeUndefined();
});

test('a value that a backend sent and that is no JSON is its failure', () => {
  const { bytes, span } = place('{"a":01}');
  expect(() => valueAt(bytes, span)).toThrow(Failure);
  expect(() => valueAt(bytes, span)).toThrow(expect.objectContaining({ reason: 'backend_invalid' }));
});

test('text and slices cover only the span', () => {
  const { bytes, span } = place('"é"');
  expect(textAt(bytes, span)).toBe('"é"');
  expect(Buffer.from(slice(bytes, span)).toString()).toBe('"é"');
});

test('a member is found by its name', () => {
  const object: ObjectSpan = {
    start: 0,
    end: 9,
    members: [
      { key: 'a', keyStart: 1, start: 2, end: 3 },
      { key: 'toString', keyStart: 4, start: 5, end: 6 },
    ],
  };
  expect(member(object, 'toString')).toMatchObject({ start: 5 });
  expect(member(object, 'constructor')).toBeUndefined();
  expect(member(undefined, 'a')).toBeUndefined();
});
