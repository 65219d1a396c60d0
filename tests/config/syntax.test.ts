import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigDocument } from '../../src/config/document.ts';
import { complaintsAbout, errorOf, load } from './loading.ts';

describe('text that is neither JSON nor YAML', () => {
  const cases: { name: string; file: string; text: string; says: string }[] = [
    {
      name: 'a missing comma, without a word of the values',
      file: '.mcp.json',
      text: '{"mcpServers": {"a": {"command": "x", "env": {\n  "TOKEN": "t0k3n"\n  "OTHER": "s3cr3t"\n}}}}',
      says: `.mcp.json:3:3: something is missing here or just before
  3 |   "*****": "******"
    |   ^
  expected a comma, a colon, a quote or a closing bracket`,
    },
    {
      name: 'a missing quote',
      file: '.mcp.json',
      text: '{"mcpServers": {\n  "a": {"command": "x, "env": {}}\n}}',
      says: `.mcp.json:2:28: a quote is missing on this line
  2 |   "*": {"command": "*, "env": {}}
    |                            ^`,
    },
    {
      name: 'a missing brace',
      file: '.mcp.json',
      text: '{"mcpServers": {"a": {"command": "x"}}\n',
      says: `.mcp.json:2:1: something is missing here or just before
  2 | 
    | ^
  expected a comma, a colon, a quote or a closing bracket`,
    },
    {
      name: 'a comment without end',
      file: '.mcp.json',
      text: '{"mcpServers": {} /* and so on',
      says: `.mcp.json:1:19: the comment has no end
  1 | {"mcpServers": {} ** *** ** **
    |                   ^`,
    },
    {
      name: 'a duplicate key',
      file: '.mcp.json',
      text: '{"mcpServers": {\n  "a": {"command": "x"},\n  "a": {"command": "y"}\n}}',
      says: `.mcp.json:3:3: \`a\` is repeated
  3 |   "a": {"command": "y"}
    |   ^^^`,
    },
    {
      name: 'duplicate keys, all of them',
      file: 'bascule.yaml',
      text: 'backends:\n  a: { command: x }\n  a: { command: y, command: z }\n',
      says: `bascule.yaml:3:3: \`a\` is repeated
  3 |   a: { command: y, command: z }
    |   ^

bascule.yaml:3:20: \`command\` is repeated
  3 |   a: { command: y, command: z }
    |                    ^^^^^^^`,
    },
    {
      name: 'duplicate keys, one a number and one a string',
      file: 'bascule.yaml',
      text: 'backends:\n  1: { command: x }\n  "1": { command: y }\n',
      says: `bascule.yaml:3:3: \`1\` is repeated
  3 |   "1": { command: y }
    |   ^^^`,
    },
    {
      name: 'YAML in a JSON file',
      file: '.mcp.json',
      text: 'mcpServers:\n  a: { command: x }\n',
      says: `.mcp.json:1:1: this is not valid JSON
  1 | mcpServers:
    | ^
  expected an object: \`{ ... }\``,
    },
    {
      name: 'words without quotes in a JSON file',
      file: '.mcp.json',
      text: '{mcpServers: {"a": {"command": npx, "args": [\'x\'], "cwd": "C:\\apps"}}}',
      says: `.mcp.json:1:2: this is not valid JSON
  1 | {mcpServers: {"a": {"command": npx, "args": ['*'], "cwd": "C:...
    |  ^^^^^^^^^^
  expected the name in double quotes

.mcp.json:1:32: this is not valid JSON
  1 | {mcpServers: {"a": {"command": npx, "args": ['*'], "cwd": "C:\\apps"}}}
    |                                ^^^
  expected text in double quotes, or a number, true, false or null

.mcp.json:1:46: this is not valid JSON
  1 | {mcpServers: {"a": {"command": npx, "args": ['*'], "cwd": "C:\\apps"}}}
    |                                              ^^^
  expected text in double quotes, or a number, true, false or null

.mcp.json:1:59: this is not valid JSON
  1 | {mcpServers: {"a": {"command": npx, "args": ['*'], "cwd": "C:\\apps"}}}
    |                                                           ^^^^^^^^^
  expected text in double quotes, with every backslash written twice, or a number, true, false or null`,
    },
    {
      name: 'tabs in YAML',
      file: 'bascule.yaml',
      text: 'backends:\n\tfiles:\n\t\tcommand: npx\n',
      says: `bascule.yaml:2:1: the line is indented with a tab
  2 | 	*****:
    | ^
  expected indentation with spaces`,
    },
    {
      name: 'a second document',
      file: 'bascule.yaml',
      text: 'backends: {}\n---\nbackends: {}\n',
      says: `bascule.yaml:2:1: a second document begins here
  2 | ---
    | ^
  expected one document in the file`,
    },
    {
      name: 'a tag',
      file: 'bascule.yaml',
      text: 'backends: !!js/function x\n',
      says: `bascule.yaml:1:11: tags such as this are not supported
  1 | backends: ************* *
    |           ^^^^^^^^^^^^^
  expected the plain value`,
    },
    { name: 'nothing', file: 'bascule.yaml', text: '\n# only a comment\n', says: 'bascule.yaml: the file is empty' },
    { name: 'an empty file', file: '.mcp.json', text: '', says: '.mcp.json: the file is empty' },
    {
      name: 'a file far too large',
      file: 'bascule.yaml',
      text: `#${'x'.repeat(4 * 1024 * 1024)}`,
      says: 'bascule.yaml: the file is too large\n  expected at most 4 MiB',
    },
    {
      name: 'aliases that hold themselves',
      file: 'bascule.yaml',
      text: 'backends: &a\n  x: *a\n',
      says: `bascule.yaml:2:3: this is nested too deeply, or its aliases expand to too many values
  2 |   x: **
    |   ^`,
    },
  ];
  test.each(cases)('$name', ({ file, text, says }) => {
    expect(complaintsAbout(text, file)).toBe(says);
  });

  test('aliases that multiply without end are cut short', () => {
    const levels = Array.from(
      { length: 20 },
      (_, at) =>
        `  a${at + 1}: &a${at + 1} { ${'xyzuvw'
          .split('')
          .map((key) => `${key}: *a${at}`)
          .join(', ')} }\n`,
    );
    const error = errorOf(() => load(`backends:\n  a0: &a0 { command: x }\n${levels.join('')}`));
    expect(error.problems.some(({ message }) => message.includes('aliases'))).toBe(true);
  });

  test.each([
    { name: 'lists in JSON', file: 'x.json', text: `{"mcpServers": {"a": ${'['.repeat(5000)}${']'.repeat(5000)}}}` },
    { name: 'lists in YAML', file: 'x.yaml', text: `backends: ${'['.repeat(5000)}${']'.repeat(5000)}` },
    { name: 'blocks in YAML', file: 'x.yaml', text: `backends:\n ${'- '.repeat(5000)}x` },
    { name: 'as many as the parser takes', file: 'x.yaml', text: `backends: ${'['.repeat(90)}${']'.repeat(90)}` },
  ])('nesting without end is refused: $name', ({ file, text }) => {
    expect(errorOf(() => load(text, file)).problems.length).toBeGreaterThan(0);
  });

  test('terminal control characters are not printed', () => {
    const said = complaintsAbout('backends:\n  "a\\e[31m": { command: "x\u001b[2J\u202e" }\n');
    for (const obeyed of ['\u001b', '\u202e']) expect(said).not.toContain(obeyed);
  });
});

describe('one parser for both syntaxes', () => {
  test('reads every JSON document as JSON.parse does', () => {
    const key = fc.string({ maxLength: 40 }).filter((text) => text !== '__proto__');
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.boolean(),
          fc.constant(null),
        ),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(
        fc.dictionary(key, tree, { noNullPrototype: true }),
        fc.constantFrom('', ' ', '\t', '  '),
        (value, indent) => {
          const document = new ConfigDocument('x.json', JSON.stringify(value, null, indent), 'json');
          expect(document.read([])).toEqual(JSON.parse(JSON.stringify(value)));
          expect(document.problems).toEqual([]);
        },
      ),
      { numRuns: 150 },
    );
  });
});
