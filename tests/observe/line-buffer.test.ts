import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineBuffer } from '../../src/observe/line-buffer.ts';

test('lines are returned in order and whole, whatever they need of space', () => {
  const buffer = new LineBuffer(16);
  for (const lines of [['a\n', 'b\n'], ['€'.repeat(40), `${'x'.repeat(200)}\n`, '😀'], [], ['c\n']]) {
    for (const line of lines) buffer.add(line);
    expect(buffer.take()).toBe(lines.join(''));
  }
});

test('strings and numbers are added as JSON has them', () => {
  const buffer = new LineBuffer(16);
  const text = fc.oneof(fc.string({ maxLength: 600 }), fc.string({ unit: 'binary', maxLength: 600 }));
  const number = fc.oneof(
    ...[fc.nat(), fc.nat().map((micros) => micros / 1_000), fc.double()],
    fc.constantFrom(
      Number.NaN,
      Number.POSITIVE_INFINITY,
      0,
      -0,
      0.001,
      0.01,
      0.1,
      10.05,
      999.999,
      1_073_741.823,
      1_073_741.824,
      1e21,
      -1,
    ),
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(text, number)), (values) => {
      for (const value of values) {
        if (typeof value === 'string') buffer.addString(value);
        else buffer.addNumber(value);
        buffer.add('\n');
      }
      expect(buffer.take()).toBe(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
    }),
  );
});

test('members of an object and padded numbers are added as JSON and the time of day have them', () => {
  const buffer = new LineBuffer(4);
  buffer.addKey('status');
  buffer.addNumber(200);
  buffer.add(' ');
  for (const value of [0, 7, 45, 999, 1_234]) buffer.addDigits(value, 3);
  expect(String(buffer.takeBytes())).toBe(',"status":200 0000070459991234');
  expect(buffer.size).toBe(0);
});

test('bytes that were taken do not change with later lines', () => {
  const buffer = new LineBuffer(16);
  buffer.add('first');
  const taken = buffer.takeBytes();
  buffer.add('later');
  expect(String(taken)).toBe('first');
});

test('what is cut was never added', () => {
  const buffer = new LineBuffer(4);
  buffer.add('first');
  const { size } = buffer;
  buffer.add('second, which needs more space');
  buffer.cut(size);
  buffer.add(', third');
  expect(buffer.take()).toBe('first, third');
});
