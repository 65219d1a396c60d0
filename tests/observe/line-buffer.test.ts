import { expect, test } from 'vitest';
import { LineBuffer } from '../../src/observe/line-buffer.ts';

test('lines are returned in order and whole, whatever they need of space', () => {
  const buffer = new LineBuffer(16);
  for (const lines of [['a\n', 'b\n'], ['€'.repeat(40), `${'x'.repeat(200)}\n`, '😀'], [], ['c\n']]) {
    for (const line of lines) buffer.add(line);
    expect(buffer.take()).toBe(lines.join(''));
  }
});
