/** The config as the program reads it: from a file to what is served, or to what is wrong with it. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { run, serve } from '../harness/program.ts';
import { modernProcess } from '../harness/stdio-backend.ts';

const called: Script = { 'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('called') }) };
const calling = modern({ id: 7, method: 'tools/call', params: { name: 'work' } });
const samples = new URL('../../config/samples/', import.meta.url);

describe('an `mcpServers` file', verifies('gateway:config:mcp-servers'), () => {
  it('is found in the working directory, and each of its servers is served', async () => {
    const process = await modernProcess({
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('process') }),
    });
    const http = await modernBackend(called);
    const file = {
      // A setting of somebody else's, and one of a client that is told apart by its name.
      globalShortcut: 'Cmd+Shift+Space',
      mcpServers: {
        local: { command: process.command, args: process.args, alwaysAllow: ['work'] },
        remote: { type: 'http', url: http.url, headers: { 'X-Team': 'blue' } },
        off: { command: 'never-started', disabled: true },
      },
    };
    const { url, program } = await serve([], { files: { '.mcp.json': JSON.stringify(file) } });
    expect((await send(url('local'), calling)).json().result.content).toEqual(text('process').content);
    expect((await send(url('remote'), calling)).json().result.content).toEqual(text('called').content);
    expect((await send(url('off'), calling)).status).toBe(404);
    expect(http.of('tools/call')[0]?.headers['x-team']).toBe('blue');
    expect(program.stdout).toContain('`off` is disabled');
  });

  it.each([
    { client: 'claude-code', servers: ['github', 'events', 'db'] },
    { client: 'claude-desktop', servers: ['filesystem', 'My Notes'] },
    { client: 'cline', servers: ['github.com/upstash/context7-mcp', 'remote'] },
    { client: 'cursor', servers: ['linear', 'shop'] },
    { client: 'gemini', servers: ['files', 'docs', 'surf'] },
    { client: 'vscode', servers: ['lint', 'search'] },
  ])('is read as $client has it', async ({ client, servers }) => {
    const files = { 'mcp.json': readFileSync(new URL(`${client}.sample`, samples), 'utf8') };
    const env = { GITHUB_TOKEN: 't', SHOP_TOKEN: 't', SEARCH_KEY: 't' };
    const { exit, stdout, stderr } = await run(['config', 'check', 'mcp.json'], { files, env });
    expect({ exit, stderr }).toEqual({ exit: { code: 0, signal: null }, stderr: '' });
    const [, backends = ''] = /^backends \(\d+\)\n((?: {2}.*\n)*)/m.exec(stdout) ?? [];
    expect(backends.match(/^ {2}(?! ).*?(?=: )/gm)?.map((name) => name.trim())).toEqual(servers);
  });
});

describe('`bascule.yaml`', verifies('gateway:config:yaml'), () => {
  it('describes what is served where, to whom and within which limits', async () => {
    const [older, newer] = [await legacyBackend(called), await modernBackend(called)];
    const yaml = `
# A comment, which JSON does not have.
listen:
  allowedOrigins: [https://app.example]
backends:
  older: { url: ${older.url}, headers: { X-Team: blue } }
  newer:
    url: ${newer.url}
endpoints:
  - path: /teams/blue/mcp
    backends: [older]
    profile: { revisions: [2025-06-18] }
    sessions: optional
  - path: /new
    backends: [newer]
    profile:
      revisions: [2026-07-28]
      accept: strict
limits:
  bodyBytes: 2 KiB
log:
  level: warn
`;
    const { origin, program } = await serve([], { files: { 'bascule.yaml': yaml } });
    const client = await connectLegacy(`${origin}/teams/blue/mcp`, { revision: '2025-11-25' });
    expect(client.revision).toBe('2025-06-18');
    const oneOff = await send(client.url, {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } },
    });
    expect(oneOff.json().result.content).toEqual(text('called').content);
    expect(older.of('tools/call')[0]?.headers['x-team']).toBe('blue');
    expect((await send(`${origin}/new`, calling)).json().result.content).toEqual(text('called').content);
    const lax = { ...calling, headers: { ...calling.headers, accept: '*/*' } };
    expect((await send(`${origin}/new`, lax)).status).toBe(406);
    const page = { ...calling, headers: { ...calling.headers, origin: 'https://app.example' } };
    expect((await send(`${origin}/new`, page)).headers['access-control-allow-origin']).toBe('https://app.example');
    expect((await send(`${origin}/new`, { ...calling, body: 'x'.repeat(2049) })).status).toBe(413);
    for (const path of ['/mcp', '/servers/older/mcp'])
      expect((await send(`${origin}${path}`, calling)).status).toBe(404);
    expect(program.stderr).toBe('');
  });

  it('describes the same as an `mcpServers` file, except for requirements that such files cannot express', async () => {
    const { url: address } = await modernBackend(called);
    const json = { mcpServers: { b: { url: address, headers: { 'X-A': '1' } }, c: { command: 'c', args: ['1'] } } };
    const yaml = `backends: { b: { url: "${address}", headers: { X-A: 1 } }, c: { command: c, args: [1] } }`;
    const files = { 'mcp.json': JSON.stringify(json), 'bascule.yaml': yaml };
    const said = await Promise.all(Object.keys(files).map((name) => run(['config', 'check', name], { files })));
    const [first, second] = said.map(({ stdout }) =>
      stdout.replace(/^ {2}\S+\.(?:json|yaml)$/m, '').replace(/^ +session ids and stored records: .*\n/m, ''),
    );
    expect(first?.replaceAll(/^ +OAuth if the backend requires it: .*\n/gm, '')).toBe(second);
    expect(first).toContain(`  b: ${address} (`);
  });
});

describe('variables of the environment', verifies('gateway:config:variables'), () => {
  const yaml = (address: string) => `
backends:
  b:
    url: \${BACKEND:-${address}}
    headers:
      Authorization: Bearer \${TOKEN}
      X-Default: \${NOBODY:-of its own}
      X-Literal: $\${TOKEN}
`;

  it('are filled in, and have defaults', async () => {
    const backend = await modernBackend(called);
    const { url } = await serve([], { files: { 'bascule.yaml': yaml(backend.url) }, env: { TOKEN: 's3cret' } });
    await send(url(), calling);
    expect(backend.of('tools/call')[0]?.headers).toMatchObject({
      authorization: 'Bearer s3cret',
      'x-default': 'of its own',
      'x-literal': `\${TOKEN}`,
    });
  });

  it('are named where they are missing', async () => {
    const backend = await modernBackend(called);
    const { exit, stdout, stderr } = await run(['serve', '--port', '0'], {
      files: { 'bascule.yaml': yaml(backend.url) },
    });
    expect({ exit, stdout }).toEqual({ exit: { code: 1, signal: null }, stdout: '' });
    expect(stderr).toContain('bascule.yaml:6:29: the environment variable `TOKEN` is not set\n');
    expect(backend.bytes).toBe(0);
  });
});

const brokenYaml = `listen:
  port: 99999
backends:
  files:
    comand: npx
endpoints:
  - path: /mcp
    profile: { revisions: [2025-06-19] }
limits:
  bodyBytes: lots
  drainms: 1s
limit: {}
`;
const brokenJson = `{
  "mcpServers": {
    "files": { "comand": "npx" },
    "web": { "url": "ftp://x" }
  }
}
`;

describe('a file that is wrong', () => {
  const unknownKeys = [
    {
      name: 'bascule.yaml',
      source: brokenYaml,
      says: [
        'bascule.yaml:5:5: unknown key `comand`\n  5 |     comand: ***\n    |     ^^^^^^\n',
        'bascule.yaml:11:3: unknown key `drainms`\n',
        'bascule.yaml:12:1: unknown key `limit`\n',
        '  did you mean `command`?\n',
        '  did you mean `drainMs`?\n',
        '  did you mean `limits`?\n',
      ],
    },
    {
      name: 'mcp.json',
      source: brokenJson,
      says: ['mcp.json:3:16: unknown key `comand`\n', '  did you mean `command`?\n'],
    },
  ];
  it.each(unknownKeys)('is refused for unknown keys: $name', verifies('gateway:config:unknown-key'), async (wrong) => {
    const { exit, stdout, stderr } = await run(['serve', '--port', '0'], { files: { [wrong.name]: wrong.source } });
    expect({ exit, stdout }).toEqual({ exit: { code: 1, signal: null }, stdout: '' });
    for (const said of wrong.says) expect(stderr).toContain(said);
  });

  const wrongValues = [
    {
      name: 'bascule.yaml',
      source: brokenYaml,
      says: [
        'bascule.yaml:2:9: `port` has a wrong value\n  2 |   port: 99999\n    |         ^^^^^\n',
        '  expected a whole number from 0 to 65535\n',
        'bascule.yaml:8:28: `revisions` has a wrong value\n',
        '  expected one of: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28\n  did you mean `2025-06-18`?\n',
        'bascule.yaml:10:14: `bodyBytes` has a wrong value\n',
        '  expected a size from 1 KiB to 512 MiB, such as 64KiB or a number of bytes\n',
      ],
    },
    {
      name: 'mcp.json',
      source: brokenJson,
      says: ['mcp.json:4:21: `url` has a wrong value\n', '  expected an http:// or https:// address\n'],
    },
  ];
  it.each(wrongValues)('is refused for wrong values: $name', verifies('gateway:config:wrong-value'), async (wrong) => {
    const { exit, stdout, stderr } = await run(['serve', '--port', '0'], { files: { [wrong.name]: wrong.source } });
    expect({ exit, stdout }).toEqual({ exit: { code: 1, signal: null }, stdout: '' });
    for (const said of wrong.says) expect(stderr).toContain(said);
  });

  it.each([
    { name: 'keys and values', source: brokenYaml },
    { name: 'no YAML', source: 'backends: {\n' },
    { name: 'an address that others can reach', source: 'listen: { host: 0.0.0.0 }\nbackends: {}\n' },
  ])('is rejected with the same text by every command: $name', verifies('gateway:config:check'), async ({ source }) => {
    const files = { 'bascule.yaml': source };
    const served = await run(['serve', '--port', '0'], { files });
    expect(served.stderr).toMatch(/^bascule\.yaml:\d+:\d+: /);
    for (const command of [['config', 'check'], ['stdio']]) {
      const { exit, stdout, stderr } = await run(command, { files });
      expect({ exit, stdout, stderr }).toEqual({ exit: { code: 1, signal: null }, stdout: '', stderr: served.stderr });
    }
  });
});

describe('`bascule config check`', verifies('gateway:config:check'), () => {
  it('prints the config summary, shows no secret, and starts nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-check-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const started = join(folder, 'started');
    const backend = await modernBackend();
    const yaml = `
backends:
  local: { command: touch, args: ["${started}"], env: { KEY: s3cret } }
  remote: { url: "${backend.url}?key=s3cret", headers: { Authorization: Bearer s3cret } }
  off: { command: off, disabled: true }
limits: { drainMs: 1s }
`;
    const files = { 'bascule.yaml': yaml };
    const { exit, stdout, stderr } = await run(['config', 'check'], { files });
    expect({ exit, stderr }).toEqual({ exit: { code: 0, signal: null }, stderr: '' });
    expect(stdout).toContain('note: backend `off` is disabled and is ignored\n');
    expect(stdout).toContain('  local: touch (1 argument, 1 environment variable, ');
    expect(stdout).toContain(`  remote: ${backend.url}?... (`);
    expect(stdout).toContain('  /servers/remote/mcp: remote\n');
    expect(stdout).toContain('  drainMs: 1 s\n');
    expect(stdout).not.toContain('s3cret');
    expect(existsSync(started)).toBe(false);
    expect(backend.bytes).toBe(0);
  });
});
