/** The control socket of a running gateway, and the commands that ask it. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { bearer, keyRing, tokenIssuer } from '../harness/credentials.ts';
import { connectLegacy } from '../harness/eras.ts';
import { modernBackend, type Script } from '../harness/http-backend.ts';
import { run, type Served, serve } from '../harness/program.ts';

const script: Script = {
  'tools/list': (turn) =>
    turn.result({
      resultType: 'complete',
      tools: [
        { name: 'work', description: 'Works.\nSlowly.', inputSchema: { type: 'object' } },
        { name: 'drop', description: 'Drops it.', inputSchema: { type: 'object' } },
      ],
      ttlMs: 0,
      cacheScope: 'private',
    }),
  'tools/call': (turn) => {
    const { name, arguments: args } = turn.message.params;
    turn.result({ resultType: 'complete', ...text(`${name} ${JSON.stringify(args)}`), isError: args.fails === true });
  },
};

interface Setting {
  readonly folder: string;
  readonly served: Served;
  ask(...args: string[]): ReturnType<typeof run>;
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-control-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A gateway with state in its own folder, and commands that are run there. */
async function setting(more: object = {}): Promise<Setting> {
  const backend = await modernBackend(script, { serverInfo: { name: 'Worker', version: '3' } });
  const folder = newFolder();
  const config = { backends: { b: { url: backend.url } }, store: { dir: 'state' }, ...more };
  writeFileSync(join(folder, 'bascule.yaml'), JSON.stringify(config));
  const env = { HOME: folder };
  const served = await serve([], { folder, env });
  await served.program.says(/^ {2}b {2}ready/m);
  return { folder, served, ask: (...args) => run(args, { folder, env }) };
}

const socketIn = (folder: string) => join(folder, 'state', 'control.sock');

describe('the control socket', verifies('gateway:control:socket'), () => {
  it('is for its user alone, and is gone when the gateway has ended', async () => {
    const { folder, served } = await setting();
    expect(statSync(socketIn(folder)).isSocket()).toBe(true);
    expect(statSync(socketIn(folder)).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'state')).mode & 0o777).toBe(0o700);
    served.program.kill('SIGTERM');
    await served.program.end();
    expect(existsSync(socketIn(folder))).toBe(false);
  });

  it('of a gateway that was killed is replaced, and of one that runs is not', async () => {
    const { folder, served, ask } = await setting();
    const second = await serve([], { folder, env: { HOME: folder } });
    await until(() => second.program.stderr.includes('cannot ask this gateway'), 'the second gateway says it');
    expect(second.program.stderr).toContain('another gateway with the state directory');
    second.program.kill('SIGTERM');
    await second.program.end();
    expect((await ask('status')).exit.code).toBe(0);
    served.program.kill('SIGKILL');
    await served.program.end();
    expect(existsSync(socketIn(folder))).toBe(true);
    await serve([], { folder, env: { HOME: folder } });
    expect((await ask('status')).exit.code).toBe(0);
  });

  it.each([
    { why: 'its path is too long', dir: 'x'.repeat(120), says: 'the path of the control socket has ' },
    { why: 'others may write into its directory', dir: 'open', says: 'other users may write into ' },
    { why: 'a file is in its place', dir: 'filed', says: 'is not a socket: remove it' },
  ])('is not served where $why, and the gateway works', async ({ dir, says }) => {
    const folder = newFolder();
    mkdirSync(join(folder, 'open'));
    chmodSync(join(folder, 'open'), 0o777);
    mkdirSync(join(folder, 'filed'));
    writeFileSync(join(folder, 'filed', 'control.sock'), '');
    writeFileSync(join(folder, 'bascule.yaml'), JSON.stringify({ backends: {}, store: { dir } }));
    const { program, origin } = await serve([], { folder });
    await until(() => program.stderr.includes(says), says);
    expect((await fetch(`${origin}/healthz`)).status).toBe(200);
  });

  it('answers what it cannot serve by name', async () => {
    const { folder } = await setting();
    const post = { method: 'POST', path: '/console/api/tools/try' };
    expect(await raw(folder, { path: '/' })).toMatchObject({ status: 404, reason: 'unknown_path' });
    expect(await raw(folder, { path: '/console/api/none' })).toMatchObject({ status: 404, reason: 'unknown_path' });
    expect(await raw(folder, post, '{')).toMatchObject({ status: 400, reason: 'invalid_body' });
    expect(await raw(folder, post, '[]')).toMatchObject({ status: 400, reason: 'invalid_body' });
    expect(await raw(folder, post, '{}')).toMatchObject({ status: 400, reason: 'invalid_try' });
    expect(await raw(folder, post, `"${'x'.repeat(1_100_000)}"`)).toMatchObject({ status: 400 });
  });
});

function raw(folder: string, options: { path: string; method?: string }, body?: string) {
  return new Promise<{ status: number | undefined; reason: string }>((resolve, reject) => {
    const asked = request({ socketPath: socketIn(folder), ...options }, (response) => {
      let said = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        said += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, reason: JSON.parse(said).error.reason }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

describe('a command', verifies('gateway:control:commands'), () => {
  it('shows the state of the gateway', async () => {
    const { ask } = await setting();
    const { exit, stdout, stderr } = await ask('status');
    expect({ code: exit.code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Bascule \d+\.\d+\.\d+, running for .*, config bascule\.yaml\n/);
    expect(stdout).toMatch(/^ {2}\/mcp {2}b {2}\(open\)$/m);
    expect(stdout).toMatch(/^ {2}b {2}ready, modern, 2026-07-28, Worker 3$/m);
    const facts = JSON.parse((await ask('status', '--json')).stdout);
    expect(facts.backends).toMatchObject([{ name: 'b', state: 'ready', eras: ['modern'] }]);
  });

  it('shows where the console is, with a new link that works once', async () => {
    const { served, ask } = await setting({ console: {} });
    const { stdout } = await ask('status');
    const link = /^console {2}(http:\S+)$/m.exec(stdout)?.[1] ?? '';
    expect(link).toMatch(/\/console#enter=[\w-]{32}$/);
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(`${served.origin}/console${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { origin: served.origin, 'content-type': 'application/json', ...headers },
      });
    const token = link.split('#enter=')[1];
    const entered = await post('/enter', { token });
    expect(entered.status).toBe(200);
    expect((await post('/enter', { token })).status).toBe(403);
    const facts = JSON.parse((await ask('status', '--json')).stdout);
    expect(facts.console).toMatch(/#enter=/);
    expect(facts.console).not.toBe(link);
    // Only the user who runs the gateway gets a link: the API over HTTP has none.
    const cookie = String(entered.headers.get('set-cookie')).split(';', 1)[0] ?? '';
    expect((await post('/api/link', {}, { cookie })).status).toBe(404);
    const overview = await fetch(`${served.origin}/console/api/overview`, { headers: { cookie } });
    expect(overview.status).toBe(200);
    expect(await overview.text()).not.toContain('enter=');
  });

  it('shows no console where the config has none', async () => {
    const { ask } = await setting();
    expect((await ask('status')).stdout).not.toContain('console');
    expect(JSON.parse((await ask('status', '--json')).stdout)).not.toHaveProperty('console');
  });

  it('lists the tools that the local user sees', async () => {
    const { ask } = await setting();
    expect((await ask('tools')).stdout).toMatch(/^work {2}Works\.\ndrop {2}Drops it\.\n/);
    const { tools } = JSON.parse((await ask('tools', '--endpoint', '/mcp', '--json')).stdout);
    expect(tools).toMatchObject([{ name: 'work', state: 'shown' }, { name: 'drop' }]);
    const elsewhere = await ask('tools', '--endpoint', '/none');
    expect(elsewhere.exit.code).toBe(1);
    expect(elsewhere.stderr).toContain('/none');
    expect((await ask('tools', '--as', 'eve')).exit.code).toBe(1);
  });

  it('calls a tool, through the policy that holds for every caller', async () => {
    const rules = [
      { id: 'all', effect: 'allow' },
      { id: 'no-drops', effect: 'deny', what: ['call'], on: { tools: ['drop'] } },
    ];
    const { ask } = await setting({ policy: { rules } });
    const called = await ask('call', 'work', '{"city": "Ulm"}');
    expect({ code: called.exit.code, stdout: called.stdout }).toEqual({ code: 0, stdout: 'work {"city":"Ulm"}\n' });
    expect((await ask('call', 'work')).stdout).toBe('work {}\n');
    expect((await ask('call', 'work', '{"fails": true}')).exit.code).toBe(1);
    const denied = await ask('call', 'drop', '{}');
    expect({ code: denied.exit.code, stdout: denied.stdout }).toEqual({ code: 1, stdout: '' });
    expect(denied.stderr).toMatch(/no-drops|policy|denied/i);
    const facts = JSON.parse((await ask('call', 'work', '{}', '--json')).stdout);
    expect(facts).toMatchObject({ outcome: 'result', result: { content: [{ type: 'text', text: 'work {}' }] } });
    for (const wrong of ['[]', '{', '"x"']) {
      const refused = await ask('call', 'work', wrong);
      expect(refused.stderr).toContain('the arguments must be a JSON object');
    }
  });

  it('works where callers need keys, as the local user', async () => {
    const ring = keyRing();
    const identity = { publicUrl: 'https://gateway.example', keys: { file: ring.path } };
    const { ask } = await setting({ identity });
    expect((await ask('call', 'work', '{}')).stdout).toBe('work {}\n');
  });

  it('lists the tools as the holder of a key sees them, without a console', async () => {
    const ring = keyRing();
    ring.make('ada');
    const identity = { publicUrl: 'https://gateway.example', keys: { file: ring.path } };
    const rules = [
      { id: 'all', effect: 'allow' },
      { id: 'no-drops', effect: 'deny', who: { keys: ['ada'] }, on: { tools: ['drop'] } },
    ];
    const { ask } = await setting({ identity, policy: { rules } });
    const shown = JSON.parse((await ask('tools', '--as', 'key:ada', '--json')).stdout);
    expect(shown).toMatchObject({ who: 'key:ada', isOwn: false, admitted: true });
    expect(shown.tools).toMatchObject([
      { name: 'work', state: 'shown' },
      { name: 'drop', state: 'hidden', rules: ['no-drops'] },
    ]);
    const unknown = await ask('tools', '--as', 'eve');
    expect(unknown.exit.code).toBe(1);
    expect(unknown.stderr).toContain('No access key has this name');
    expect(unknown.stderr).toContain('with `console` in the config');
    expect(unknown.stderr).toContain('(unknown_person)');
  });

  it('lists the tools as a person with an open session sees them, without a console', async () => {
    const issuer = await tokenIssuer();
    const identity = { publicUrl: 'https://gateway.example', issuers: [{ issuer: issuer.url }] };
    const { ask, served } = await setting({ identity });
    const token = await issuer.token('https://gateway.example/mcp', { sub: 'grace' });
    await connectLegacy(served.url(), {}, bearer(token));
    expect(JSON.parse((await ask('tools', '--as', 'grace', '--json')).stdout)).toMatchObject({
      who: 'grace',
      tools: [{ name: 'work' }, { name: 'drop' }],
    });
  });

  it('finds the only gateway that runs, also one without a config file', async () => {
    const backend = await modernBackend(script);
    const folder = newFolder();
    const elsewhere = newFolder();
    const env = { HOME: folder };
    await serve([backend.url], { folder, env });
    const found = await run(['status'], { folder: elsewhere, env });
    expect(found.exit.code).toBe(0);
    expect(found.stderr).toContain('asking the only gateway that is running: ');
    await serve([], { folder, env });
    const several = await run(['status'], { folder: elsewhere, env });
    expect(several.exit.code).toBe(1);
    expect(several.stderr).toContain('several gateways are running');
    const base = join(folder, '.local', 'state', 'bascule');
    const socket = join(base, readdirSync(base)[0] ?? '', 'control.sock');
    expect((await run(['status', '--socket', socket], { folder: elsewhere, env })).exit.code).toBe(0);
  });

  it('says that no gateway runs', async () => {
    const folder = newFolder();
    const { exit, stdout, stderr } = await run(['status'], { folder, env: { HOME: folder } });
    expect({ code: exit.code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^no gateway is running \(.*control\.sock\): start one with `bascule serve`\n$/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('asks the API of a console elsewhere, with a key from the environment', async () => {
    const asked: string[] = [];
    const server = createServer((req, res) => {
      asked.push(`${req.method} ${req.url} ${req.headers.authorization}`);
      const isRefused = req.headers.authorization !== 'Bearer s3cret';
      res.writeHead(isRefused ? 403 : 200, { 'Content-Type': 'application/json' });
      res.end(
        JSON.stringify(
          isRefused ? { error: { reason: 'not_allowed', message: 'No' } } : { endpoint: '/mcp', tools: [] },
        ),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/console/api`;
    const ask = (...args: string[]) => run(['tools', '--url', url, ...args], { env: { KEY: 's3cret', BAD: 'other' } });
    const shown = await ask('--key-env', 'KEY', '--as', 'ada', '--json');
    expect(JSON.parse(shown.stdout)).toEqual({ endpoint: '/mcp', tools: [] });
    expect(asked).toEqual(['GET /console/api/tools?as=ada Bearer s3cret']);
    expect((await ask('--key-env', 'BAD')).stderr).toBe('No (not_allowed)\n');
    expect((await ask('--key-env', 'NONE')).stderr).toBe('the environment variable NONE is not set\n');
    const unreached = await run(['tools', '--url', 'http://127.0.0.1:1/console/api']);
    expect(unreached.stderr).toContain('cannot be reached');
    expect((await run(['tools', '--url', 'x'])).stderr).toContain('--url must be an http:// or https:// address');
  });
});
