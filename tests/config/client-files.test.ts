import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { complaintsAbout, configOf, load } from './loading.ts';

const stdio = { kind: 'stdio', args: [], env: {}, share: false, maxProcesses: 16, idleMs: 1_800_000, state: 'session' };
/** Where no credentials are written down, the server may demand that somebody agrees. */
const ifDemanded = { grant: 'authorization_code', shared: true, implied: true };
const http = { kind: 'http', headers: {}, transport: 'auto', auth: ifDemanded };
const { auth: _auth, ...proven } = http;

function sample(name: string): string {
  return readFileSync(new URL(`samples/${name}.sample`, import.meta.url), 'utf8');
}

describe('config files of other programs are read unchanged', () => {
  const cases = [
    {
      name: 'claude-desktop',
      file: 'claude_desktop_config.json',
      env: {},
      backends: [
        {
          ...stdio,
          name: 'filesystem',
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/ada/Desktop', '/Users/ada/Downloads'],
        },
        {
          ...stdio,
          name: 'My Notes',
          command: 'C:\\Program Files\\nodejs\\node.exe',
          args: ['C:\\tools\\notes\\index.js'],
          env: { NOTES_TOKEN: 'abc-123', PORT: '3000' },
        },
      ],
      paths: ['/mcp', '/servers/filesystem/mcp', '/servers/My%20Notes/mcp'],
      notices: [],
    },
    {
      name: 'claude-code',
      file: '.mcp.json',
      env: { GITHUB_TOKEN: 'gh', HOME: '/home/ada' },
      backends: [
        {
          ...proven,
          name: 'github',
          url: 'https://api.githubcopilot.com/mcp/',
          headers: { Authorization: 'Bearer gh' },
          transport: 'streamable-http',
        },
        { ...http, name: 'events', url: 'https://events.example/sse', transport: 'sse' },
        { ...stdio, name: 'db', command: './bin/db-server', args: ['--config', '/home/ada/db.json'] },
      ],
      paths: ['/mcp', '/servers/github/mcp', '/servers/events/mcp', '/servers/db/mcp'],
      notices: ['server `events`: `headersHelper` is ignored: only `headers` are sent'],
    },
    {
      name: 'vscode',
      file: '.vscode/mcp.json',
      env: { SEARCH_KEY: 'k', HOME: '/home/ada' },
      backends: [
        {
          ...stdio,
          name: 'lint',
          command: 'node',
          args: ['/project/tools/lint.js', '--home=/home/ada'],
          cwd: '/project/tools',
        },
        { ...http, name: 'search', url: 'https://search.example/mcp', headers: { 'X-Key': 'k' } },
      ],
      paths: ['/mcp', '/servers/lint/mcp', '/servers/search/mcp'],
      notices: [
        'server `lint`: `envFile` is ignored: the file is not read, so its variables are missing unless the gateway’s environment has them',
        'server `search`: the header `Accept` is ignored: the gateway sets it itself',
      ],
    },
    {
      name: 'cursor',
      file: '.cursor/mcp.json',
      env: { SHOP_TOKEN: 's' },
      backends: [
        { ...http, name: 'linear', url: 'https://mcp.linear.app/sse' },
        { ...proven, name: 'shop', url: 'https://shop.example/mcp', headers: { Authorization: 'Bearer s' } },
      ],
      paths: ['/mcp', '/servers/linear/mcp', '/servers/shop/mcp'],
      notices: ['server `shop`: `auth` is ignored: only `headers` are sent'],
    },
    {
      name: 'cline',
      file: 'cline_mcp_settings.json',
      env: {},
      backends: [
        {
          ...stdio,
          name: 'github.com/upstash/context7-mcp',
          command: 'npx',
          args: ['-y', '@upstash/context7-mcp@latest'],
        },
        { ...http, name: 'remote', url: 'https://remote.example/mcp', transport: 'streamable-http' },
      ],
      paths: ['/mcp', '/servers/github.com%2Fupstash%2Fcontext7-mcp/mcp', '/servers/remote/mcp'],
      notices: [
        'server `github.com/upstash/context7-mcp`: `timeout` is ignored: time limits are set under `limits` in bascule.yaml',
        'server `old` is disabled and is ignored',
        'server `remote`: `disabledTools` is ignored: every tool of the server is offered',
      ],
    },
    {
      name: 'gemini',
      file: 'settings.json',
      env: {},
      backends: [
        { ...stdio, name: 'files', command: 'uvx', args: ['mcp-server-git'], cwd: '/project/work' },
        { ...http, name: 'docs', url: 'https://docs.example/mcp', transport: 'streamable-http' },
        { ...http, name: 'surf', url: 'https://surf.example/mcp' },
      ],
      paths: ['/mcp', '/servers/files/mcp', '/servers/docs/mcp', '/servers/surf/mcp'],
      notices: [
        'server `files`: `timeout` is ignored: time limits are set under `limits` in bascule.yaml',
        'server `docs`: `includeTools` is ignored: every tool of the server is offered',
      ],
    },
  ];
  test.each(cases)('$name', ({ name, file, env, backends, paths, notices }) => {
    const loaded = load(sample(name), file, env);
    expect(loaded.config.backends).toEqual(backends);
    expect(loaded.config.endpoints.map(({ path }) => path)).toEqual(paths);
    expect(loaded.notices).toEqual(notices);
  });

  test('a byte order mark, CRLF and a comment that looks like a string are accepted', () => {
    const text =
      '\ufeff{\r\n\t// "mcpServers": {\r\n\t"mcpServers": {\r\n\t\t"a": {"command": "x//y"} /* } */\r\n\t}\r\n}\r\n';
    expect(configOf(text, '.mcp.json').backends).toEqual([{ ...stdio, name: 'a', command: 'x//y' }]);
  });

  test('null means absent', () => {
    const text = '{"mcpServers": {"a": {"command": "x", "env": null, "url": null, "headers": null}}}';
    expect(configOf(text, '.mcp.json').backends).toEqual([{ ...stdio, name: 'a', command: 'x' }]);
  });

  test('a file without a telling name is JSON where it begins like it', () => {
    expect(configOf('{"mcpServers": {"a": {"command": "x"}}}', '/dev/stdin').backends).toHaveLength(1);
    expect(configOf('backends: {a: {command: x}}', '/dev/stdin').backends).toHaveLength(1);
  });
});

describe('an error in them is reported with place and remedy', () => {
  const entry = (members: string): string => `{"mcpServers": {\n\t"a": {${members}}\n}}`;
  const allKeys = 'command, args, env, cwd, url, headers, type, disabled, serverUrl, httpUrl, transport, transportType';
  const cases: { name: string; text: string; says: string }[] = [
    {
      name: 'an unknown key',
      text: entry('"command": "x", "arg": ["--token", "t0k3n"]'),
      says: `.mcp.json:2:24: unknown key \`arg\`
  2 | 	"a": {"command": "x", "arg": ["--*****", "*****"]}
    | 	                      ^^^^^
  expected one of: ${allKeys}
  did you mean \`args\`?`,
    },
    {
      name: 'wrong values',
      text: entry('"command": 5, "args": "x", "env": {"A=B": "t0k3n", "C": {}}, "disabled": 1'),
      says: `.mcp.json:2:19: \`command\` has a wrong value
  2 | 	"a": {"command": 5, "args": "*", "env": {"A=B": "*****", "C": {}}, "disabled"...
    | 	                 ^
  expected text without control characters

.mcp.json:2:30: \`args\` has a wrong value
  2 | 	"a": {"command": 5, "args": "*", "env": {"A=B": "*****", "C": {}}, "disabled": 1}
    | 	                            ^^^
  expected a list of arguments

.mcp.json:2:43: \`A=B\` can't be a key here
  2 | 	"a": {"command": 5, "args": "*", "env": {"A=B": "*****", "C": {}}, "disabled": 1}
    | 	                                         ^^^^^
  expected the name of an environment variable

.mcp.json:2:64: \`C\` has a wrong value
  2 | ...": {"command": 5, "args": "*", "env": {"A=B": "*****", "C": {}}, "disabled": 1}
    |                                                                ^
  expected text

.mcp.json:2:81: \`disabled\` has a wrong value
  2 | ... "args": "*", "env": {"A=B": "*****", "C": {}}, "disabled": 1}
    |                                                                ^
  expected true or false`,
    },
    {
      name: 'a transport that does not exist, or does not fit',
      text: '{"mcpServers": {\n"a": {"type": "websocket", "url": "http://a.example"},\n"b": {"type": "stdio", "url": "http://b.example"},\n"c": {"transport": "htttp", "url": "http://c.example"},\n"d": {"type": "sse", "command": "d"}}}',
      says: `.mcp.json:2:15: \`type\` has a wrong value
  2 | "a": {"type": "websocket", "url": "http://*********"},
    |               ^^^^^^^^^^^
  expected one of: stdio, local, http, streamable-http, streamableHttp, sse

.mcp.json:3:15: \`type\` contradicts the rest of this server
  3 | "b": {"type": "stdio", "url": "http://*********"},
    |               ^^^^^^^
  expected http or sse, since there is no \`command\`

.mcp.json:4:20: \`transport\` has a wrong value
  4 | "c": {"transport": "htttp", "url": "http://*********"},
    |                    ^^^^^^^
  expected one of: stdio, local, http, streamable-http, streamableHttp, sse
  did you mean \`http\`?

.mcp.json:5:15: \`type\` contradicts the rest of this server
  5 | "d": {"type": "sse", "command": "d"}}}
    |               ^^^^^
  expected stdio, since there is a \`command\``,
    },
    {
      name: 'two addresses',
      text: entry('"url": "http://a.example", "httpUrl": "http://a.example"'),
      says: `.mcp.json:2:35: both \`url\` and \`httpUrl\`
  2 | 	"a": {"url": "http://*********", "httpUrl": "http://*********"}
    | 	                                 ^^^^^^^^^
  expected one of them`,
    },
    {
      name: 'a variable that only an editor can fill in',
      text: entry(`"command": "x", "env": {"KEY": "\${input:key}"}`),
      says: `.mcp.json:2:40: \`\${input:key}\` can be filled in only by an editor
  2 | 	"a": {"command": "x", "env": {"KEY": "\${input:***}"}}
    | 	                                      ^^^^^^^^^^^^
  expected an environment variable instead, such as \`\${API_KEY}\``,
    },
    {
      name: 'a variable of the editor that is not known',
      text: entry(`"command": "\${userHome}/x"`),
      says: `.mcp.json:2:20: \`\${userHome}\` is not known here
  2 | 	"a": {"command": "\${userHome}/x"}
    | 	                  ^^^^^^^^^^^
  expected \`\${NAME}\`, \`\${NAME:-default}\` or \`\${file:/path}\`; a literal \`\${\` is written \`$\${\``,
    },
    {
      name: 'names that can stand in no path',
      text: '{"mcpServers": {"..": {"command": "x"}, "": {"command": "x"}, "a\\u0007": {"command": "x"}}}',
      says: `.mcp.json:1:17: \`..\` can't be the name of a server
  1 | {"mcpServers": {"..": {"command": "x"}, "": {"command": "x"}, "a\\u0007": {"c...
    |                 ^^^^
  expected up to 128 characters, none of them a control character

.mcp.json:1:41: \`\` can't be the name of a server
  1 | {"mcpServers": {"..": {"command": "x"}, "": {"command": "x"}, "a\\u0007": {"command": "x"}}}
    |                                         ^^
  expected up to 128 characters, none of them a control character

.mcp.json:1:63: \`a\ufffd\` can't be the name of a server
  1 | ...mcpServers": {"..": {"command": "x"}, "": {"command": "x"}, "a\\u0007": {"command": "x"}}}
    |                                                                ^^^^^^^^^
  expected up to 128 characters, none of them a control character`,
    },
    {
      name: 'no servers',
      text: '{ "mcp_servers": {} }',
      says: `.mcp.json:1:3: there are no servers in this file
  1 | { "mcp_servers": {} }
    |   ^^^^^^^^^^^^^
  expected \`mcpServers\`, or VS Code's \`servers\`; Bascule's own settings go into bascule.yaml
  did you mean \`mcpServers\`?`,
    },
    {
      name: 'servers twice over',
      text: '{ "mcpServers": {}, "servers": {} }',
      says: `.mcp.json:1:21: both \`mcpServers\` and \`servers\`
  1 | { "mcpServers": {}, "servers": {} }
    |                     ^^^^^^^^^
  expected one of them`,
    },
    {
      name: 'servers in a list',
      text: '{ "mcpServers": [] }',
      says: `.mcp.json:1:17: \`mcpServers\` has a wrong value
  1 | { "mcpServers": [] }
    |                 ^
  expected an object with a member for each server`,
    },
  ];
  test.each(cases)('$name', ({ text, says }) => {
    expect(complaintsAbout(text, '.mcp.json')).toBe(says);
  });
});
