/** Entries in the text of clients' files: what is added can be taken out again, and the rest stays as it is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LinkError } from '../../src/cli/link/entry-file.ts';
import { jsonFormat } from '../../src/cli/link/json-entry.ts';
import { readJsonc } from '../../src/cli/link/jsonc.ts';
import { tomlFormat } from '../../src/cli/link/toml-entry.ts';

const place = { container: 'mcpServers', name: 'bascule' };
const entry = { type: 'http', url: 'http://127.0.0.1:8808/mcp' };

describe('an entry in JSON', () => {
  const cases = [
    {
      name: 'beside others, with their indentation',
      before: '{\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}\n',
      after:
        '{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"bascule": {\n\t\t\t"type": "http",\n\t\t\t"url": "http://127.0.0.1:8808/mcp"\n\t\t}\n\t}\n}\n',
    },
    {
      name: 'behind a comment and a trailing comma',
      before: '{\n  "mcpServers": {\n    "a": {}, // mine\n  },\n}',
      after:
        '{\n  "mcpServers": {\n    "a": {}, // mine\n    "bascule": {\n      "type": "http",\n      "url": "http://127.0.0.1:8808/mcp"\n    },\n  },\n}',
    },
    {
      name: 'on one line',
      before: '{"mcpServers":{"a":{}}}',
      after: '{"mcpServers":{"a":{},"bascule":{"type":"http","url":"http://127.0.0.1:8808/mcp"}}}',
    },
    {
      name: 'with the line ends of Windows',
      before: '{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n',
      after:
        '{\r\n  "mcpServers": {\r\n    "a": {},\r\n    "bascule": {\r\n      "type": "http",\r\n      "url": "http://127.0.0.1:8808/mcp"\r\n    }\r\n  }\r\n}\r\n',
    },
  ];
  it.each(cases)('is added $name, and taken out again', ({ before, after }) => {
    expect(jsonFormat.add(before, place, entry)).toBe(after);
    expect(jsonFormat.remove(after, place)).toBe(before);
  });

  it('is added beside a text of 20 MB', () => {
    const before = `{"history":"${'x'.repeat(20_000_000)}"}`;
    const after = jsonFormat.add(before, place, entry);
    expect(after.startsWith(before.slice(0, -1))).toBe(true);
    expect(after.length).toBeGreaterThan(before.length);
  });

  it.each([
    '{}',
    '{ }',
    '{\n}',
    '{"a":1}',
    '{ "a": [1, 2] }\n',
    '{\n  "mcpServers": {}\n}',
    '{\n // all\n}',
    '\ufeff{}',
  ])('is added where there is no other: %j', (before) => {
    const after = jsonFormat.add(before, place, entry);
    const servers = { bascule: entry };
    expect(JSON.parse(JSON.stringify(jsonFormat.read(after)))).toMatchObject({ mcpServers: servers });
    expect(JSON.parse(JSON.stringify(jsonFormat.read(jsonFormat.remove(after, place))))).toMatchObject({
      mcpServers: {},
    });
  });

  it.each(['', '{', '{"a":1,,}', '{"a":01}', "{'a':1}", '{"a":1}}', '{"a" 1}', '{"a":1,"a":2}', '/* {}', '{"a":"\n"}'])(
    'is refused in a text that is not JSON: %j',
    (text) =>
      expect(() => jsonFormat.read(text)).toThrow(text === '' ? LinkError : /^line \d+, column \d+ is not valid/),
  );

  it('does not overflow the stack of a text that is nested deeply', () => {
    expect(() => jsonFormat.read('['.repeat(1_000_000))).toThrow(LinkError);
  });

  it('leaves every other character where it was, whatever comments and layout there are', () => {
    fc.assert(
      fc.property(someJsonc(), (text) => {
        const after = jsonFormat.add(text, place, entry);
        const before = JSON.parse(JSON.stringify(readJsonc(text).value)) as { mcpServers: object };
        expect(JSON.parse(JSON.stringify(readJsonc(after).value))).toEqual({
          ...before,
          mcpServers: { ...before.mcpServers, bascule: entry },
        });
        expect(jsonFormat.remove(after, place)).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});

/** A file with one server or more, with comments and white space in every place where they may be. */
function someJsonc(): fc.Arbitrary<string> {
  const gap = fc
    .array(fc.constantFrom('', ' ', '\n', '\n  ', '\t', '/* x */', '/* {"a": */ ', '// , }\n', '// "  \n', '\r\n'), {
      maxLength: 3,
    })
    .map((parts) => parts.join(''));
  const key = fc.constantFrom('a', 'b', 'c // d', '/* e', 'f"g', 'h\\', '\u00e9').map((text) => JSON.stringify(text));
  const scalar = fc.constantFrom('1', '-0.5e3', 'true', 'null', '"x"', '"//"', '"}"', '[]', '{}', '[1, {"q": 2},]');
  const objectOf = (members: fc.Arbitrary<string>[], isClosed: boolean) =>
    fc.tuple(gap, fc.boolean(), ...members).map(([end, comma, ...rest]) => {
      const tail = comma && rest.length > 0 && !isClosed ? ',' : '';
      return `{${rest.join(',')}${tail}${end}}`;
    });
  const member = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>) =>
    fc.tuple(gap, name, gap, gap, value, gap).map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`);
  const uniqueMembers = fc.uniqueArray(key, { minLength: 1, maxLength: 4 }).chain((keys) =>
    objectOf(
      keys.map((name) => member(fc.constant(name), scalar)),
      false,
    ),
  );
  const servers = member(fc.constant('"mcpServers"'), uniqueMembers);
  const around = fc
    .uniqueArray(key, { maxLength: 2 })
    .chain((keys) => objectOf([...keys.map((name) => member(fc.constant(name), scalar)), servers], false));
  return fc.tuple(gap, around, gap).map((parts) => parts.join(''));
}

describe('an entry in TOML', () => {
  const at = { container: 'mcp_servers', name: 'bascule' };
  const codex = { url: 'http://127.0.0.1:8808/mcp', http_headers: { 'X-Team': 'b"lue' } };
  const table = '[mcp_servers.bascule]\nurl = "http://127.0.0.1:8808/mcp"\nhttp_headers = { "X-Team" = "b\\"lue" }\n';

  it.each(['', 'model = "o5" # mine\n', '[mcp_servers.a]\ncommand = "x"\n', '# only a comment\n'])(
    'is a table at the end, and taken out again: %j',
    (before) => {
      const after = tomlFormat.add(before, at, codex);
      expect(after).toBe(before === '' ? table : `${before}\n${table}`);
      expect(tomlFormat.remove(after, at)).toBe(before);
    },
  );

  it('is taken out of the middle, with its own tables, and without the comment of the next one', () => {
    const before = `${table}[mcp_servers.bascule.env]\nA = "1"\n\n# next\n[other]\nx = 1\n`;
    expect(tomlFormat.remove(before, at)).toBe('\n# next\n[other]\nx = 1\n');
  });

  it('is refused in a text that is not TOML', () => {
    expect(() => tomlFormat.read('a = [')).toThrow(/^line \d+, column \d+ is not valid TOML$/);
  });
});
