import { expect, test } from 'vitest';
import { LineBuffer } from '../../src/observe/line-buffer.ts';
import { jsonAdder, jsonLine, textLine } from '../../src/observe/log.ts';

const text = textLine(() => new Date('2026-01-02T03:04:05Z'));

test.each([
  { name: 'plain facts', facts: { backend: 'b', count: 3 }, line: '03:04:05 warn  down  backend=b  count=3\n' },
  {
    name: 'facts with spaces',
    facts: { cause: 'no such "file"' },
    line: '03:04:05 warn  down  cause="no such \\"file\\""\n',
  },
  { name: 'a line feed in a fact', facts: { name: 'a\nb' }, line: '03:04:05 warn  down  name="a\\nb"\n' },
  { name: 'absent facts', facts: { name: undefined }, line: '03:04:05 warn  down\n' },
])('a line of text has $name', ({ facts, line }) => {
  expect(text('warn', facts, 'down')).toBe(line);
});

test('a line of text sends no commands to a terminal', () => {
  expect(text('info', {}, 'a\u001b[2Jb')).toBe('03:04:05 info  a\ufffd[2Jb\n');
  expect(text('info', { name: 'a\u009b2Jb', all: ['\u0085'] }, 'request')).toBe(
    '03:04:05 info  request  name="a\ufffd2Jb"  all=["\ufffd"]\n',
  );
});

test.each(['debug', 'info', 'warn', 'error'] as const)(
  'a line of JSON has the time in ISO 8601, the level %s by its name, the facts and the text',
  (level) => {
    const json = jsonLine(() => new Date('2026-01-02T03:04:05.678Z'));
    expect(json(level, { backend: 'b', cause: 'a\n"b"', absent: undefined, eras: ['modern'] }, 'down')).toBe(
      `{"time":"2026-01-02T03:04:05.678Z","level":"${level}","backend":"b","cause":"a\\n\\"b\\"","eras":["modern"],"msg":"down"}\n`,
    );
  },
);

test('a frequent line is the same as any other line of JSON, in every millisecond', () => {
  let now = Date.parse('2026-01-02T03:04:05.000Z');
  const add = jsonAdder(() => now);
  const json = jsonLine(() => new Date(now));
  const lines = new LineBuffer(64);
  const facts = { name: 'a\n"b" \u00e9', absent: undefined, status: 200, ms: 1.045 };
  for (const step of [0, 7, 38, 900, 55, 1, 3_600_000]) {
    now += step;
    add(lines, facts, 'request');
    expect(lines.take()).toBe(json('info', facts, 'request'));
  }
});
