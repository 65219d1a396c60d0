/** `bascule link` and `bascule unlink`, as a user runs them. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { clients } from '../../../src/cli/link/clients.ts';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { run, serve, start } from '../harness/program.ts';

const url = 'http://127.0.0.1:8808/mcp';

/** Files that people have, with what an editor would spoil. */
const existing: Readonly<Record<string, string>> = {
  'claude-code': '{"numStartups":7,"mcpServers":{"a":{"command":"x"}},"projects":{"/p":{"history":["\\ud83d"]}}}',
  'claude-desktop': '{\n    "globalShortcut": "Cmd+K",\n    "mcpServers": {}\n}',
  cursor: '{\r\n\t"mcpServers": {\r\n\t\t"a": { "url": "https://a.example" },\r\n\t},\r\n}\r\n',
  vscode:
    '// mine\n{\n  "inputs": [],\n  "servers": {\n    "a": { "command": "x" }, // first\n    /* last */\n  }\n}\n',
  codex: '# mine\nmodel = "o5"\n\n[mcp_servers.a]\ncommand = "x" # why\n',
};

function home(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-link-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function fileIn(folder: string, client: string): string {
  const file = clients[client]?.file({ home: folder, env: {}, platform: process.platform }) ?? '';
  mkdirSync(dirname(file), { recursive: true });
  return file;
}

const asks = (folder: string, ...args: string[]) => run(args, { folder, env: { HOME: folder } });
const names = Object.keys(clients);

describe('a client’s file', verifies('gateway:link:round-trip'), () => {
  it.each(names)('gets the gateway, and loses it again, byte for byte: %s', async (client) => {
    const folder = home();
    const file = fileIn(folder, client);
    const before = existing[client] ?? '';
    writeFileSync(file, before);
    chmodSync(file, 0o640);
    const linked = await asks(folder, 'link', client, '--url', url, '--key-env', 'GATEWAY_KEY');
    expect({ exit: linked.exit, stdout: linked.stdout }).toEqual({
      exit: { code: 0, signal: null },
      stdout: `added \`bascule\` in ${file}\n`,
    });
    expect(linked.stderr).toContain(`the file from before: ${file}.before-bascule\n`);
    expect(readFileSync(`${file}.before-bascule`, 'utf8')).toBe(before);
    const after = readFileSync(file, 'utf8');
    expect(after).toContain(url);
    expect(after).toContain('GATEWAY_KEY');
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const again = await asks(folder, 'link', client, '--url', url, '--key-env', 'GATEWAY_KEY');
    expect(again.stdout).toBe(`${file} has it already\n`);
    const other = await asks(folder, 'link', client, '--url', 'https://other.example/mcp');
    expect(other.stdout).toBe(`replaced \`bascule\` in ${file}\n`);
    const unlinked = await asks(folder, 'unlink', client);
    expect(unlinked.stdout).toBe(`removed \`bascule\` from ${file}\n`);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readdirSync(dirname(file)).filter((name) => name.includes('bascule'))).toEqual([]);
  });

  it.each(names)('is made where there is none, and deleted again: %s', async (client) => {
    const folder = home();
    const file = fileIn(folder, client);
    await asks(folder, 'link', client, '--url', url);
    expect(clients[client]?.format.read(readFileSync(file, 'utf8'))).toBeDefined();
    await asks(folder, 'unlink', client);
    expect(existsSync(file)).toBe(false);
  });

  it.each(names)('that has changed since loses the entry alone: %s', async (client) => {
    const folder = home();
    const file = fileIn(folder, client);
    const before = existing[client] ?? '';
    writeFileSync(file, before);
    await asks(folder, 'link', client, '--url', url);
    const changed = (of: string) =>
      of.replace('"x"', '"y"').replace('Cmd+K', 'Cmd+L').replace('a.example', 'b.example');
    writeFileSync(file, changed(readFileSync(file, 'utf8')));
    expect((await asks(folder, 'unlink', client)).exit.code).toBe(0);
    const format = clients[client]?.format;
    expect(format?.read(readFileSync(file, 'utf8'))).toEqual(format?.read(changed(before)));
  });

  it.each([
    { client: 'claude-code', file: '.mcp.json', entry: { type: 'http', url } },
    { client: 'cursor', file: '.cursor/mcp.json', entry: { url } },
    { client: 'vscode', file: '.vscode/mcp.json', entry: { type: 'http', url } },
  ])('of a project: $client', async ({ client, file, entry }) => {
    const folder = home();
    const { exit } = await asks(folder, 'link', client, '--project', '--url', url, '--name', 'gate');
    expect(exit.code).toBe(0);
    const [servers] = Object.values(JSON.parse(readFileSync(join(folder, file), 'utf8')));
    expect(servers).toEqual({ gate: entry });
    await asks(folder, 'unlink', client, '--project', '--name', 'gate');
    expect(existsSync(join(folder, file))).toBe(false);
  });

  it('names variables in the way of each client, and never a key', async () => {
    const entries = await Promise.all(
      names.map(async (client) => {
        const folder = home();
        const flags = ['--url', url, '--key-env', 'KEY', '--header', 'X-Team: blue', '--print'];
        const { stdout, stderr } = await asks(folder, 'link', client, ...flags);
        expect(stderr).toContain(fileIn(folder, client));
        expect(existsSync(`${fileIn(folder, client)}`)).toBe(false);
        return [client, stdout] as const;
      }),
    );
    const printed = Object.fromEntries(entries);
    expect(JSON.parse(printed['claude-code'] ?? '').mcpServers.bascule.headers).toEqual({
      Authorization: `Bearer \${KEY}`,
      'X-Team': 'blue',
    });
    expect(JSON.parse(printed.cursor ?? '').mcpServers.bascule.headers.Authorization).toBe(`Bearer \${env:KEY}`);
    expect(JSON.parse(printed.vscode ?? '').servers.bascule.headers.Authorization).toBe(`Bearer \${env:KEY}`);
    expect(printed.codex).toBe(
      `[mcp_servers.bascule]\nurl = "${url}"\nbearer_token_env_var = "KEY"\nhttp_headers = { "X-Team" = "blue" }\n`,
    );
    expect(JSON.parse(printed['claude-desktop'] ?? '').mcpServers.bascule.args.slice(1)).toEqual([
      ...['stdio', url, '--header', `Authorization: Bearer \${KEY}`, '--header', 'X-Team: blue'],
    ]);
  });

  it('has the address of the config, where none is named', async () => {
    const folder = home();
    writeFileSync(join(folder, 'bascule.yaml'), 'listen: { port: 9090 }\nbackends: { b: { command: b } }\n');
    const { stdout } = await asks(folder, 'link', 'cursor', '--print');
    expect(JSON.parse(stdout).mcpServers.bascule).toEqual({ url: 'http://127.0.0.1:9090/mcp' });
  });

  it('has a command that works as it stands', async () => {
    const backend = await modernBackend({
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('called') }),
    });
    const folder = home();
    writeFileSync(join(folder, 'bascule.yaml'), `backends: { b: { url: "${backend.url}" } }`);
    const { url: address } = await serve([backend.url]);
    const forms = [
      await asks(folder, 'link', 'claude-desktop', '--stdio', '--print'),
      await asks(folder, 'link', 'claude-desktop', '--url', address(), '--print'),
    ];
    const calling = modern({ id: 7, method: 'tools/call', params: { name: 'work' } });
    for (const { stdout } of forms) {
      const { command, args } = JSON.parse(stdout).mcpServers.bascule;
      expect(command).toBe(process.execPath);
      const program = start(args.slice(1));
      program.write(`${JSON.stringify(calling.body)}\n`);
      await program.says(/"called"/);
      program.endInput();
      await program.end();
    }
  });
});

describe('a file that must not be changed', verifies('gateway:link:refusals'), () => {
  it.each([
    { why: 'is not JSON', content: '{"mcpServers": {', says: 'line 1, column 17 is not valid JSON' },
    { why: 'is a list', content: '[]', says: 'it is not an object at the top' },
    { why: 'has a list of servers', content: '{"mcpServers": []}', says: '`mcpServers` is not an object' },
    {
      why: 'has a server of the same name',
      content: '{"mcpServers": {"bascule": {"url": "https://mine.example"}}}',
      says: 'it has a server `bascule` that bascule did not write',
    },
  ])('stays as it is where it $why', async ({ content, says }) => {
    const folder = home();
    const file = fileIn(folder, 'cursor');
    writeFileSync(file, content);
    const { exit, stdout, stderr } = await asks(folder, 'link', 'cursor', '--url', url);
    expect({ code: exit.code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`${file}: ${says}`);
    expect(readFileSync(file, 'utf8')).toBe(content);
    expect(readdirSync(dirname(file))).toEqual(['mcp.json']);
  });

  it('stays as it is where its entry is not ours', async () => {
    const folder = home();
    const file = fileIn(folder, 'cursor');
    const content = `{"mcpServers": {"bascule": {"url": "${url}"}}}`;
    writeFileSync(file, content);
    const { exit, stderr } = await asks(folder, 'unlink', 'cursor');
    expect(exit.code).toBe(1);
    expect(stderr).toContain('bascule did not write its server `bascule`');
    expect(readFileSync(file, 'utf8')).toBe(content);
  });

  it('stays as it is where it is a link to another folder', async () => {
    const folder = home();
    const file = fileIn(folder, 'cursor');
    const target = join(folder, 'dotfiles.json');
    writeFileSync(target, '{}');
    symlinkSync(target, file);
    const { exit, stderr } = await asks(folder, 'link', 'cursor', '--url', url);
    expect(exit.code).toBe(1);
    expect(stderr).toContain('it is a symbolic link to ');
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toBe('{}');
  });

  it('is not made for a client that is not there', async () => {
    const folder = home();
    const { exit, stderr } = await asks(folder, 'link', 'cursor', '--url', url);
    expect(exit.code).toBe(1);
    expect(stderr).toContain(`there is no ${join(folder, '.cursor')}: start Cursor once`);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    { args: ['curser'], says: 'no client is named `curser`; there are: claude-code, ' },
    { args: ['curser'], says: 'Did you mean `cursor`?' },
    { args: ['claude-desktop', '--project'], says: 'Claude Desktop has no file for a project' },
    { args: ['cursor', '--name', 'a b'], says: "`a b` can't be a name" },
    { args: ['cursor', '--key-env', 'bsc_s3cret-1'], says: '--key-env takes the name of an environment variable' },
    { args: ['cursor', '--header', 's3cret'], says: '--header takes a name, a colon and a value' },
    { args: ['cursor', '--url', 'x'], says: '--url must be an http:// or https:// address' },
    { args: ['cursor', '--stdio', '--url', url], says: '--stdio serves the config itself' },
    { args: ['codex', '--url', url, '--header', `X: a\${B}c`], says: "Codex can't put a variable into the middle" },
  ])('is not looked at for a wrong command line: $args', async ({ args, says }) => {
    const folder = home();
    const { exit, stderr } = await asks(folder, 'link', ...args);
    expect(exit.code).toBe(1);
    expect(stderr).toContain(says);
    expect(stderr).not.toContain('s3cret');
  });
});
