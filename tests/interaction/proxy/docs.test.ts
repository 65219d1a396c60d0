/** docs/proxy.md and docs/from-openshell.md as they stand there. What is made up there is real here. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, within } from '../harness/client.ts';
import { initialize } from '../harness/eras.ts';
import { legacyBackend, type ScriptedBackend } from '../harness/http-backend.ts';
import { freePort } from '../harness/ports.ts';
import { run, start } from '../harness/program.ts';
import { backendCaPem, backendTls } from './setup.ts';

const docs = new URL('../../../docs/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, docs), 'utf8');
const blocksIn = (page: string, language: string) =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text);

const tools = ['search_web', 'read_page', 'read_secrets', 'write_page'];

function server(): Promise<ScriptedBackend> {
  return legacyBackend(
    {
      'tools/list': (turn) => turn.result({ tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
      'tools/call': (turn) => turn.result({ content: [{ type: 'text', text: turn.message.params.name }] }),
    },
    { tls: backendTls },
  );
}

/** A folder with the config, as the page has it but for the address and the port. */
async function settle(config: string, backend: ScriptedBackend) {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-proxy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const real = config
    .replace('https://search.example/mcp', backend.url)
    .replace(/^proxy: \{\}/m, `proxy: { listen: { port: ${port} } }`);
  writeFileSync(join(folder, 'bascule.yaml'), real);
  const roots = join(folder, 'backend-ca.pem');
  writeFileSync(roots, backendCaPem);
  return { folder, env: { NODE_EXTRA_CA_CERTS: roots } };
}

/** In a shell with the variables of `bascule proxy env`. */
async function shell(command: string, variables: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', ...more };
  const child = spawn('sh', ['-c', `eval "$VARIABLES"\n${command}`], { env: { ...env, VARIABLES: variables } });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await within(new Promise((resolve) => child.on('close', resolve)), () => `it does not end: ${said}`);
  return said;
}

describe('the proxy, as its page has it', { timeout: 60_000, ...verifies('gateway:proxy:commands') }, () => {
  it('the steps lead from nothing to a call with curl', async () => {
    const backend = await server();
    const [config = ''] = blocksIn('proxy.md', 'yaml');
    const [, steps = ''] = blocksIn('proxy.md', 'sh');
    const { folder, env } = await settle(config, backend);
    const check = await run(['config', 'check'], { folder, env });
    expect(check.stdout + check.stderr).toContain('the proxy has no certificate authority for localhost');
    const made = await run(['proxy', 'ca'], { folder, env });
    expect([made.exit.code, made.stdout.trim()]).toEqual([0, expect.stringMatching(/proxy-ca\.pem$/)]);
    const again = await run(['proxy', 'ca'], { folder, env });
    expect(again.stderr).toContain('already');
    await start(['serve', '--port', '0'], { folder, env }).says(/the proxy is at http:\/\/127\.0\.0\.1/);
    const variables = (await run(['proxy', 'env'], { folder, env })).stdout;
    const [, command = ''] = steps.trim().split('\n');
    const answer = await shell(command.replace('https://search.example/mcp', backend.url), variables);
    expect(answer).toContain('"serverInfo":{"name":"legacy","version":"1"}');
  });

  it('without `proxy` in the config, the commands say what to add', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-proxy-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'bascule.yaml'), 'backends: {}\n');
    for (const command of ['ca', 'env']) {
      const { exit, stderr } = await run(['proxy', command], { folder });
      expect([exit.code, stderr]).toEqual([2, 'the config has no `proxy`: add `proxy: {}`\n']);
    }
  });
});

describe('coming from OpenShell', { timeout: 60_000, ...verifies('gateway:proxy:same-rules') }, () => {
  it('the two files of the guide decide alike', async () => {
    const theirs = parse(read('from-openshell/openshell-policy.yaml')).network_policies.search.endpoints[0];
    const ours = read('from-openshell/bascule.yaml');
    expect(parse(ours).backends.search.url).toBe(`https://${theirs.host}${theirs.path}`);
    expect(parse(ours).endpoints[0].profile.revisions).toEqual(theirs.mcp.versions);
    const backend = await server();
    const { folder, env } = await settle(ours, backend);
    const [steps = ''] = blocksIn('from-openshell.md', 'sh');
    const commands = steps.split('\n').flatMap((line) => /^bascule (.*?)\s*(?:#|$)/.exec(line)?.[1] ?? []);
    expect(commands.map((command) => command.split(' ')[0])).toEqual(['key', 'proxy', 'config', 'serve']);
    let key = '';
    for (const command of commands.slice(0, -1)) {
      const { exit, stdout } = await run(command.split(' '), { folder, env });
      expect([command, exit.code]).toEqual([command, 0]);
      if (command.startsWith('key')) key = stdout.trim().split(/\s+/).at(-1) ?? '';
    }
    const serving = `${commands.at(-1)} --port 0`.split(' ');
    await start(serving, { folder, env }).says(/the proxy is at/);
    const variables = (await run(['proxy', 'env'], { folder, env })).stdout;

    const post = async (body: Json, headers: Readonly<Record<string, string>> = {}): Promise<[string, Json]> => {
      const fields = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers };
      const flags = Object.entries(fields).map(([name, value]) => `-H '${name}: ${value}'`);
      const command = `curl -sS -i --suppress-connect-headers ${backend.url} ${flags.join(' ')} -d '${JSON.stringify(body)}'`;
      const [head = '', text = ''] = (await shell(command, variables, { BASCULE_KEY: key })).split('\r\n\r\n');
      return [head, text === '' ? undefined : JSON.parse(text)];
    };
    const [head] = await post(initialize());
    const session = {
      'Mcp-Session-Id': /^mcp-session-id: (.*)$/im.exec(head)?.[1]?.trim() ?? head,
      'MCP-Protocol-Version': '2025-11-25',
    };
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
    const decided: Record<string, boolean> = {};
    for (const name of tools) {
      const [, answer] = await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }, session);
      decided[name] = answer.result !== undefined;
    }
    expect(decided).toEqual(Object.fromEntries(tools.map((name) => [name, allowedThere(theirs, name)])));
    const before = backend.received.length;
    const [, batch] = await post([{ jsonrpc: '2.0', id: 1, method: 'tools/list' }], session);
    expect(batch.error.data.reason).toBe('unsupported_mcp_batch');
    const modern = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' };
    const [, other] = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, modern);
    expect(other.error).toBeDefined();
    expect(backend.received).toHaveLength(before);
    const records = () => readFileSync(join(folder, 'audit.jsonl'), 'utf8');
    await expect.poll(records).toContain('unsupported_mcp_batch');
    expect(records()).not.toContain(key);
  });
});

/** OpenShell's decision about a tool, by its own rules: a denial wins, and what no rule allows is denied. */
function allowedThere(endpoint: Json, tool: string): boolean {
  const fits = (pattern: string) => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(tool);
  const named = (wanted: Json): boolean => (wanted.any ?? [wanted]).some(fits);
  const isDenied = endpoint.deny_rules.some((rule: Json) => rule.method === 'tools/call' && named(rule.tool));
  const rules = endpoint.rules.map(({ allow }: Json) => allow).filter(({ method }: Json) => method === 'tools/call');
  return !isDenied && rules.some((rule: Json) => named(rule.tool));
}
