import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { elementsAt } from '../../src/wire/skim.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const read = (text: string) => {
  const bytes = encode(text);
  return elementsAt(bytes, { start: 0, end: bytes.length })?.map(({ start, end }) =>
    JSON.parse(new TextDecoder().decode(bytes.subarray(start, end))),
  );
};

describe('elements of an array', () => {
  it('are found whatever they are and however they are spaced', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(0, 2, '\t'), (values, indent) => {
        const text = JSON.stringify(values, undefined, indent);
        expect(read(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('are not looked for in anything else', () => {
    for (const text of ['{}', '"[]"', '1', 'null']) expect(read(text)).toBeUndefined();
  });

  it('are refused where they are not separated', () => {
    for (const text of ['[1 2]', '[{}{}]']) expect(() => read(text)).toThrow(Failure);
  });
});
