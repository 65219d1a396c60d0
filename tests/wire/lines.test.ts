import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { LineReader, lineBytes, type ReadLine } from '../../src/wire/lines.ts';
import { awkwardJson, cut, holds, spell, spelling } from './property.ts';

const told = (line: ReadLine): string =>
  line instanceof Failure ? line.reason : `=${Buffer.from(line).toString('latin1')}`;

function read(pieces: readonly Uint8Array[], limit = 20): string[] {
  const reader = new LineReader({ lineBytes: limit }, 'backend_too_large');
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()].map(told);
}

const bytewise = (bytes: Uint8Array): Uint8Array[] => Array.from(bytes, (byte) => Uint8Array.of(byte));

describe('lines', () => {
  const long = 'x'.repeat(21);
  const cases: readonly { name: string; input: string; expect: string[] }[] = [
    { name: 'one', input: 'a\n', expect: ['=a'] },
    { name: 'several', input: 'a\nb\n', expect: ['=a', '=b'] },
    { name: 'with carriage returns', input: 'a\r\nb\r\n', expect: ['=a', '=b'] },
    { name: 'empty ones left out', input: '\n\na\n\r\n\nb\n', expect: ['=a', '=b'] },
    { name: 'a carriage return inside', input: 'a\rb\n', expect: ['=a\rb'] },
    { name: 'the last without its end', input: 'a\nb', expect: ['=a', '=b'] },
    { name: 'nothing', input: '', expect: [] },
    { name: 'as long as allowed', input: `${'x'.repeat(20)}\n`, expect: [`=${'x'.repeat(20)}`] },
    { name: 'a long one between others', input: `a\n${long}${long}\nb\n`, expect: ['=a', 'backend_too_large', '=b'] },
    { name: 'two long ones', input: `${long}\n${long}\n`, expect: ['backend_too_large', 'backend_too_large'] },
    { name: 'a long one without end', input: `a\n${long}`, expect: ['=a', 'backend_too_large'] },
  ];
  test.each(cases)('$name', ({ input, expect: expected }) => {
    expect(read([Buffer.from(input)])).toEqual(expected);
  });
  test.each(cases)('$name, byte by byte', ({ input, expect: expected }) => {
    expect(read(bytewise(Buffer.from(input)))).toEqual(expected);
  });

  test('are too long by the fault of the client unless set otherwise', () => {
    const [line] = new LineReader({ lineBytes: 1 }).push(Buffer.from('abc\n'));
    expect(line).toMatchObject({ reason: 'body_too_large' });
  });

  test('that are too long are reported before they end', () => {
    const reader = new LineReader({ lineBytes: 3 });
    expect(reader.push(Buffer.from('abcd')).map(told)).toEqual(['body_too_large']);
    expect(reader.push(Buffer.from('efgh'))).toEqual([]);
    expect(reader.push(Buffer.from('\nok\n')).map(told)).toEqual(['=ok']);
  });

  test('are the same however the stream is chunked', () => {
    const bytes = fc.array(fc.constantFrom('a', 'bc', '\n', '\r', '\r\n', 'é', 'xxxxxxxxxx'), { maxLength: 40 });
    holds(
      fc.property(bytes, fc.array(fc.nat()), (parts, places) => {
        const stream = Buffer.from(parts.join(''));
        const whole = read([stream]);
        expect(read(cut(stream, places))).toEqual(whole);
        expect(read(bytewise(stream))).toEqual(whole);
      }),
      1000,
    );
  });
});

describe('a message as a line', () => {
  test('has one line break, its own', () => {
    expect(lineBytes('{\n "a":1\r\n}').toString()).toBe('{  "a":1  }\n');
    expect(lineBytes(Buffer.from('{}')).toString()).toBe('{}\n');
  });

  test('does not change the bytes that it was made of', () => {
    const bytes = Buffer.from('{\n}');
    lineBytes(bytes);
    expect(bytes.toString()).toBe('{\n}');
  });

  test('means the same', () => {
    holds(
      fc.property(awkwardJson, spelling, (value, how) => {
        const [line, ...others] = new LineReader({ lineBytes: 1_000_000 }).push(lineBytes(spell(value, how)));
        expect(others).toEqual([]);
        expect(JSON.parse(Buffer.from(line as Uint8Array).toString())).toEqual(JSON.parse(spell(value, how)));
      }),
    );
  });
});
