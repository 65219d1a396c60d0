import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { skimMessage as Skim } from '../../src/wire/skim.ts';
import { skimMessage } from '../../src/wire/skim.ts';
import { StructureScanner } from '../../src/wire/structure.ts';
import { awkwardJson, holds, spell, spelling } from './property.ts';

/** The same reader in an engine without WebAssembly. */
let tokenByToken: typeof Skim;

beforeAll(async () => {
  vi.stubGlobal('WebAssembly', undefined);
  vi.resetModules();
  ({ skimMessage: tokenByToken } = await import('../../src/wire/skim.ts'));
  // The reader looks for WebAssembly at the first large message.
  tokenByToken(inResult(`[${'0,'.repeat(1000)}0]`));
  vi.unstubAllGlobals();
});

afterAll(() => vi.resetModules());

test('the scanner itself can be made here, and finds the end of a container', () => {
  const text = Buffer.from(`${'[{"a":"]}\\\\\\"]"},'.repeat(500)}0${']'.repeat(500)}}`);
  const scanner = new StructureScanner(2048);
  expect(scanner.end(text, 0, Buffer.from('{'))).toBe(text.byteLength);
  expect(scanner.end(text.subarray(0, -1), 0, Buffer.from('{'))).toBeLessThan(0);
});

function inResult(value: string | Uint8Array): Buffer {
  const head = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"a":');
  return Buffer.concat([head, Buffer.from(value), Buffer.from(',"b":"x"}}')]);
}

/** Where the members of the result end, or why it was refused. */
function outcome(skim: typeof Skim, bytes: Uint8Array): unknown {
  try {
    const message = skim(bytes);
    return message.kind === 'result' ? message.result.members.map(({ key, end }) => [key, end]) : message.kind;
  } catch (failure) {
    return (failure as { reason: unknown }).reason;
  }
}

/** The end of `a`, found by both ways of reading. */
function endOf(value: string): unknown {
  const bytes = inResult(value);
  const found = outcome(skimMessage, bytes);
  expect(outcome(tokenByToken, bytes)).toEqual(found);
  return found;
}

const start = inResult('').indexOf(',"b"');
const whole = (value: string) => [
  ['a', start + Buffer.byteLength(value)],
  ['b', start + Buffer.byteLength(value) + 8],
];
/** Longer than what is read token by token in any case. */
const before = '"a [ string",'.repeat(30);

describe('a large container', () => {
  test('ends at its own bracket, wherever a block or a window ends', () => {
    for (let length = 0; length < 1200; length++) {
      const value = `[${before}{"k":"${'x'.repeat(length)}"},[]]`;
      expect(endOf(value)).toEqual(whole(value));
    }
  });

  test('may have any number of backslashes before a quote, at any place', () => {
    for (let length = 0; length < 70; length++) {
      for (let slashes = 0; slashes < 7; slashes++) {
        const value = `[${before}"${'x'.repeat(length)}${'\\\\'.repeat(slashes)}\\"]","${'\\\\'.repeat(slashes)}"]`;
        expect(endOf(value)).toEqual(whole(value));
      }
    }
  });

  test('may have a string of several windows, full of quotes and brackets', () => {
    const value = `[${before}${JSON.stringify('{"a":["\\"é"]}]'.repeat(10_000))}]`;
    expect(endOf(value)).toEqual(whole(value));
  });

  test.each([
    ['a bracket of the other kind', `[${before}{"a":[1}]]`],
    ['one bracket too few', `[${before}[]`],
    ['a string without an end', `[${before}"a]`],
    ['a string that ends in an escape', `[${before}"a\\"]`],
    ['a backslash outside of strings', `[${before}\\"a"]`],
    ['a byte outside of strings that resembles a bracket', `[${before}y]`],
  ])('is refused with %s', (_, value) => {
    expect(endOf(value)).toBe('backend_invalid');
  });

  test('nests as deep as a small one', () => {
    const nested = (depth: number) => `[${before}${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}]`;
    expect(endOf(nested(2048))).toEqual(whole(nested(2048)));
    expect(endOf(nested(2049))).toBe('backend_invalid');
    expect(endOf(nested(100_000))).toBe('backend_invalid');
  });
});

test('both ways of reading agree about any text, broken or not', () => {
  const large = fc.array(awkwardJson, { minLength: 20, maxLength: 60 });
  const change = fc.record({ at: fc.nat(), byte: fc.constantFrom(...Buffer.from('"\\[]{},:y\u00db0')) });
  holds(
    fc.property(large, spelling, fc.array(change, { maxLength: 3 }), (value, how, changes) => {
      const bytes = inResult(spell(value, how));
      for (const { at, byte } of changes) bytes[start + (at % (bytes.byteLength - start))] = byte;
      expect(outcome(skimMessage, bytes)).toEqual(outcome(tokenByToken, bytes));
    }),
  );
});
