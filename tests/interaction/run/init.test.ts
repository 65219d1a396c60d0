/** `bascule init`, as a user runs it: what it makes is a config that `config check` accepts. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { run } from '../harness/program.ts';

const samples = new URL('../../config/samples/', import.meta.url);
const token = `ghp_${'x'.repeat(30)}`;
const written = {
  mcpServers: {
    files: { command: 'npx', args: ['-y', 'files', '--api-key', 's3cret-1'], env: { DEBUG: '1', API_KEY: 's3cret-2' } },
    'My Notes': { command: '${workspaceFolder}/notes', cwd: 'data', timeout: 5 },
    search: { type: 'http', url: 'https://search.example/mcp', headers: { Authorization: `Bearer ${token}` } },
    open: { url: '${BASE}/mcp', headers: { 'X-Key': '${OPEN_KEY}', Accept: '*/*' } },
    asked: { command: 'asked', env: { TOKEN: '${input:my-token}' } },
    off: { command: 'off', disabled: true },
  },
};
const variables = { BASE: 'https://open.example', OPEN_KEY: 'k', MY_TOKEN: 't' };

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-init-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const check = (folder: string, env = {}) => run(['config', 'check', 'bascule.yaml'], { folder, env });

describe('a config from the file of a client', verifies('gateway:init'), () => {
  it('has its servers, in our words, and names what looks like a secret', async () => {
    const folder = folderWith({ 'mcp.json': JSON.stringify(written) });
    const { exit, stdout, stderr } = await run(['init', 'mcp.json'], { folder });
    expect({ code: exit.code, stdout }).toEqual({ code: 0, stdout: 'wrote bascule.yaml from mcp.json: 6 backends\n' });
    for (const name of Object.keys(variables)) expect(stderr).toContain(`needs the environment variable ${name}\n`);
    for (const where of ['files.args.3', 'files.env.API_KEY', 'search.headers.Authorization'])
      expect(stderr).toContain(`warning: backends.${where}`);
    expect(stderr).not.toMatch(/s3cret|ghp_/);
    const yaml = readFileSync(join(folder, 'bascule.yaml'), 'utf8');
    expect(yaml).toContain('# the client calls it "My Notes"\n');
    expect(yaml).toContain(`command: ${folder}/notes\n`);
    expect(yaml).toContain(`cwd: ${folder}/data\n`);
    expect(yaml).not.toContain('Accept:');
    expect(statSync(join(folder, 'bascule.yaml')).mode & 0o777).toBe(0o600);
    const checked = await check(folder, variables);
    expect({ code: checked.exit.code, stderr: checked.stderr }).toEqual({ code: 0, stderr: '' });
    expect(checked.stdout).toContain('backends (5)');
  });

  it('has no secret where they are moved to a file of their own', async () => {
    const folder = folderWith({ '.mcp.json': JSON.stringify(written) });
    const { exit, stderr } = await run(['init', '--secrets-file', 'secrets.env'], { folder });
    expect(exit.code).toBe(0);
    expect(stderr).toContain('backends.files.env.API_KEY: moved to FILES_API_KEY_2 in secrets.env\n');
    const yaml = readFileSync(join(folder, 'bascule.yaml'), 'utf8');
    expect(yaml).not.toMatch(/s3cret|ghp_/);
    expect(yaml).toContain('Authorization: Bearer ${SEARCH_AUTHORIZATION}\n');
    const moved = readFileSync(join(folder, 'secrets.env'), 'utf8');
    expect(statSync(join(folder, 'secrets.env')).mode & 0o777).toBe(0o600);
    const env = Object.fromEntries(moved.split('\n').map((line) => line.split('=', 2) as [string, string]));
    expect(env).toMatchObject({ FILES_API_KEY: 's3cret-1', FILES_API_KEY_2: 's3cret-2', SEARCH_AUTHORIZATION: token });
    delete env[''];
    expect((await check(folder, { ...variables, ...env })).exit.code).toBe(0);
  });

  it.each(['claude-code', 'claude-desktop', 'cline', 'cursor', 'gemini', 'vscode'])(
    'is accepted: %s',
    async (client) => {
      const folder = folderWith({ 'mcp.json': readFileSync(new URL(`${client}.sample`, samples), 'utf8') });
      expect((await run(['init', 'mcp.json'], { folder })).exit.code).toBe(0);
      const env = { GITHUB_TOKEN: 't', SHOP_TOKEN: 't', SEARCH_KEY: 't' };
      const checked = await check(folder, env);
      expect({ code: checked.exit.code, stderr: checked.stderr }).toEqual({ code: 0, stderr: '' });
    },
  );
});

describe('a config from nothing', verifies('gateway:init'), () => {
  it('is accepted, as it is and with its settings uncommented', async () => {
    const folder = folderWith({});
    expect((await run(['init'], { folder })).stdout).toBe('wrote bascule.yaml: 0 backends\n');
    expect((await check(folder)).exit.code).toBe(0);
    const file = join(folder, 'bascule.yaml');
    const given = readFileSync(file, 'utf8').replace('backends: {}\n', '');
    writeFileSync(file, given.replaceAll(/^#(?=\S| {2,}\S)/gm, ''));
    const checked = await check(folder, { SEARCH_TOKEN: 't' });
    expect({ code: checked.exit.code, stderr: checked.stderr }).toEqual({ code: 0, stderr: '' });
    expect(checked.stdout).toContain('no-deletes');
  });
});

describe('no config', verifies('gateway:init'), () => {
  it.each([
    { files: { 'bascule.yaml': 'mine' }, args: [], says: 'bascule.yaml: it is there already, and is not overwritten' },
    { files: { 's.env': 'mine' }, args: ['--secrets-file', 's.env'], says: 's.env: it is there already' },
    { files: {}, args: ['mcp.json'], says: 'mcp.json: there is no such file' },
    { files: { 'mcp.json': '{' }, args: ['mcp.json'], says: 'mcp.json:1:' },
    {
      files: { 'mcp.json': '{"mcpServers":{"a":{"comand":"s3cret"}}}' },
      args: ['mcp.json'],
      says: 'unknown key `comand`',
    },
    { files: {}, args: ['--out', 'no/where.yaml'], says: 'it cannot be written (ENOENT)' },
  ])('is written where $says', async ({ files, args, says }) => {
    const folder = folderWith(files);
    const { exit, stdout, stderr } = await run(['init', ...args], { folder });
    expect({ code: exit.code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(says);
    expect(stderr).not.toContain('s3cret');
    expect(readdirSync(folder)).toEqual(Object.keys(files));
  });
});
