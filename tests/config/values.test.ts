import { describe, expect, test } from 'vitest';
import { expand } from '../../src/config/expand.ts';
import { defaultLimits, limitNames, limitRow, settleLimits } from '../../src/config/limits.ts';
import { nearest } from '../../src/config/nearest.ts';
import { readQuantity, type Unit, writeQuantity } from '../../src/config/quantity.ts';

describe('variables', () => {
  const variables = { env: { A: 'one', EMPTY: '', DOLLAR: '$' + '{A}' }, predefined: { '/': '/', home: '/h' } };
  const cases: { name: string; text: string; expanded: string }[] = [
    { name: 'no variable', text: 'plain $A $ { }', expanded: 'plain $A $ { }' },
    { name: 'a variable', text: `<\${A}>`, expanded: '<one>' },
    { name: 'twice', text: `\${A}\${A}`, expanded: 'oneone' },
    { name: 'as editors write it', text: `\${env:A}`, expanded: 'one' },
    { name: 'a variable that an editor fills in', text: `\${home}\${/}x`, expanded: '/h/x' },
    { name: 'a default that is not needed', text: `\${A:-two}`, expanded: 'one' },
    { name: 'a default that is needed', text: `\${B:-two}`, expanded: 'two' },
    { name: 'an empty default', text: `<\${B:-}>`, expanded: '<>' },
    { name: 'a default with odd characters', text: `\${B:-http://x:80/-?}`, expanded: 'http://x:80/-?' },
    { name: 'a default for an empty value', text: `\${EMPTY:-two}`, expanded: 'two' },
    { name: 'an empty value without default', text: `<\${EMPTY}>`, expanded: '<>' },
    { name: 'a literal', text: `$\${A}`, expanded: `\${A}` },
    { name: 'a value is not expanded again', text: `\${DOLLAR}`, expanded: `\${A}` },
  ];
  test.each(cases)('$name', ({ text, expanded }) => {
    expect(expand(text, variables)).toEqual({ text: expanded, faults: [] });
  });

  test('properties inherited by objects are not variables', () => {
    expect(expand(`\${constructor} \${toString}`, variables).faults.map(({ message }) => message)).toEqual([
      'the environment variable `constructor` is not set',
      'the environment variable `toString` is not set',
    ]);
  });
});

describe('files', () => {
  const files: Readonly<Record<string, string>> = {
    '/run/key': '  secret\r\n',
    '/empty': ' \n',
    '/large': 'x'.repeat(64 * 1024 + 1),
    '/dollar': '$' + '{A}',
  };
  const readFile = (path: string) => {
    if (path === '/locked') throw Object.assign(new Error('of the system'), { code: 'EACCES' });
    return files[path];
  };
  const variables = { env: { A: 'one' }, predefined: {}, readFile };

  test('are replaced by their content, without the white space around it', () => {
    expect(expand(`Bearer \${file:/run/key}-\${A}`, variables)).toEqual({ text: 'Bearer secret-one', faults: [] });
    expect(expand(`\${file:/dollar}`, variables)).toEqual({ text: `\${A}`, faults: [] });
    expect(expand(`$\${file:/run/key}`, variables)).toEqual({ text: `\${file:/run/key}`, faults: [] });
  });

  test.each([
    { path: '/none', message: 'there is no file `/none`' },
    { path: '/empty', message: 'the file `/empty` is empty' },
    { path: '/large', message: 'the file `/large` is over 64 KiB' },
    { path: '/locked', message: 'the file `/locked` cannot be read (EACCES)' },
    { path: '', message: 'no file is named here' },
  ])('are rejected by name: "$path"', ({ path, message }) => {
    const { text, faults } = expand(`<\${file:${path}}>`, variables);
    expect(text).toBe('<>');
    expect(faults).toEqual([
      {
        written: `\${file:${path}}`,
        message,
        expected: expect.stringContaining('a file that contains only the value'),
      },
    ]);
  });
});

describe('quantities', () => {
  const cases: { value: number | string; unit: Unit; amount: number | undefined }[] = [
    { value: 5, unit: 'count', amount: 5 },
    { value: '5', unit: 'count', amount: 5 },
    { value: ' 5 ', unit: 'count', amount: 5 },
    { value: '5x', unit: 'count', amount: undefined },
    { value: '', unit: 'count', amount: undefined },
    { value: '1e3', unit: 'count', amount: undefined },
    { value: -1, unit: 'count', amount: undefined },
    { value: 1.5, unit: 'count', amount: undefined },
    { value: Number.NaN, unit: 'count', amount: undefined },
    { value: '64KiB', unit: 'bytes', amount: 65_536 },
    { value: '1.5 MiB', unit: 'bytes', amount: 1_572_864 },
    { value: '1 MB', unit: 'bytes', amount: undefined },
    { value: '0.3 KiB', unit: 'bytes', amount: undefined },
    { value: '90s', unit: 'ms', amount: 90_000 },
    { value: '2 min', unit: 'ms', amount: 120_000 },
    { value: '1h', unit: 'ms', amount: 3_600_000 },
    { value: '10 KiB', unit: 'ms', amount: undefined },
    { value: 10_000_001, unit: 'ms', amount: undefined },
  ];
  test.each(cases)('$value in $unit is $amount', ({ value, unit, amount }) => {
    expect(readQuantity(value, { unit, min: 0, max: 10_000_000 })).toBe(amount);
  });

  test('every default can be written, and read again', () => {
    for (const name of limitNames) {
      const row = limitRow(name);
      expect(readQuantity(writeQuantity(row.default, row.unit), row), name).toBe(row.default);
    }
  });
});

describe('limits', () => {
  test('have the defaults of their table, none clipped by another', () => {
    for (const name of limitNames) expect(defaultLimits[name], name).toBe(limitRow(name).default);
  });

  test('name only limits that exist as the ones above them', () => {
    for (const name of limitNames) expect([undefined, ...limitNames]).toContain(limitRow(name).atMost);
  });

  test('a default is reduced by a lower configured limit', () => {
    const { limits, conflicts } = settleLimits({ sessionsTotal: 10 });
    expect(limits).toEqual({ ...defaultLimits, sessionsTotal: 10, sessionsPerPrincipal: 10 });
    expect(conflicts).toEqual([]);
  });

  test('a configured limit is not reduced', () => {
    const { conflicts } = settleLimits({ restartMinMs: 60_000, restartMaxMs: 1000 });
    expect(conflicts).toEqual([{ name: 'restartMinMs', other: 'restartMaxMs', most: 1000 }]);
  });
});

describe('the nearest spelling', () => {
  const keys = ['command', 'args', 'env', 'maxProcesses', 'transport', 'batches', 'url'];
  const cases = [
    { word: 'comand', means: 'command' },
    { word: 'commnad', means: 'command' },
    { word: 'Command', means: 'command' },
    { word: 'arg', means: 'args' },
    { word: 'max-processes', means: 'maxProcesses' },
    { word: 'max_proceses', means: 'maxProcesses' },
    { word: 'batch', means: 'batches' },
    { word: 'uri', means: 'url' },
    { word: 'cwd', means: undefined },
    { word: '', means: undefined },
    { word: 'transport'.repeat(20), means: undefined },
  ];
  test.each(cases)('of "$word" is $means', ({ word, means }) => {
    expect(nearest(word, keys)).toBe(means);
  });
});
