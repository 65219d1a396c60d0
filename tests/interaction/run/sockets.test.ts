/** Unix sockets: the gateway listens on one, and reaches backends over them. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { type Json, send } from '../harness/client.ts';
import { modernBackend, type Script } from '../harness/http-backend.ts';
import { aCall } from '../harness/limits.ts';
import { configFile, type Program, run, serve, start } from '../harness/program.ts';

const script: Script = { 'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('done') }) };

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-socket-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Scene {
  readonly folder: string;
  readonly socket: string;
  start(args?: readonly string[]): Promise<Program>;
}

async function scene(listen: object = {}, more: object = {}): Promise<Scene> {
  const folder = newFolder();
  const socket = join(folder, 'mcp.sock');
  const backend = await modernBackend(script);
  const config = { backends: { b: { url: backend.url } }, listen: { socket: 'mcp.sock', ...listen }, ...more };
  writeFileSync(join(folder, 'bascule.yaml'), JSON.stringify(config));
  const begin = async (args: readonly string[] = []) => {
    const program = start(['serve', ...args], { folder });
    await program.says(/listening on unix:/);
    return program;
  };
  return { folder, socket, start: begin };
}

interface SocketAnswer {
  readonly status: number;
  readonly body: Json;
}

function sendTo(socketPath: string, headers: Readonly<Record<string, string>> = {}): Promise<SocketAnswer> {
  const { headers: own, body } = aCall();
  const usual = {
    host: 'localhost',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ socketPath, path: '/mcp', method: 'POST', headers: { ...usual, ...own, ...headers } });
    asked.on('error', reject).on('response', (answer) => {
      let heard = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        heard += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(heard) }));
    });
    asked.end(JSON.stringify(body));
  });
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('a gateway on a Unix socket', verifies('gateway:socket:serves'), () => {
  it('serves there alone, with the rights that the config gives, and removes it at the end', async () => {
    const { socket, start: begin } = await scene({ mode: '0600' });
    const program = await begin();
    expect(program.stdout).toContain(`(listening on unix:${socket})`);
    expect(program.stdout).toContain(`curl -s --unix-socket ${socket} http://localhost/mcp`);
    expect(program.stdout).not.toContain('claude mcp add');
    expect(modeOf(socket)).toBe('600');
    expect(await sendTo(socket)).toMatchObject({ status: 200, body: { result: { resultType: 'complete' } } });
    program.kill('SIGTERM');
    await program.end();
    expect(existsSync(socket)).toBe(false);
  });

  it('is for its owner and group unless the config says otherwise', async () => {
    const { socket, start: begin } = await scene();
    await begin();
    expect(modeOf(socket)).toBe('660');
  });

  it('serves with several workers', async () => {
    const { socket, start: begin } = await scene({ mode: '0600' });
    const program = await begin(['--workers', '2']);
    for (let n = 0; n < 6; n++) expect((await sendTo(socket)).status).toBe(200);
    expect(modeOf(socket)).toBe('600');
    program.kill('SIGTERM');
    await program.end();
    expect(existsSync(socket)).toBe(false);
  });

  it.each([
    ['localhost', 200],
    ['127.0.0.1:80', 200],
    ['gateway.internal', 200],
    ['evil.example', 403],
  ])('answers a request with Host %s with %i', async (host, status) => {
    const { socket, start: begin } = await scene({ allowedHosts: ['gateway.internal'] });
    await begin();
    expect((await sendTo(socket, { host })).status).toBe(status);
  });

  it('refuses pages of foreign origins', async () => {
    const { socket, start: begin } = await scene();
    await begin();
    expect((await sendTo(socket, { origin: 'https://evil.example' })).status).toBe(403);
  });

  it.each([
    [['unix'], '198.51.100.7'],
    [[], ''],
  ])('with trusted proxies %j takes the client for %j', async (trustedProxies, address) => {
    const { socket, folder, start: begin } = await scene({ trustedProxies }, { audit: { to: 'audit.jsonl' } });
    const program = await begin();
    await sendTo(socket, { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' });
    program.kill('SIGTERM');
    await program.end();
    const [record = '{}'] = readFileSync(join(folder, 'audit.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(record).address ?? '').toBe(address);
  });
});

describe('a path that is taken', verifies('gateway:socket:stale'), () => {
  it.each([[[]], [['--workers', '2']]])(
    'by a gateway that was killed is used again, with %j',
    async (args: string[]) => {
      const { socket, start: begin } = await scene();
      const killed = await begin();
      killed.kill('SIGKILL');
      await killed.end();
      expect(existsSync(socket)).toBe(true);
      await begin(args);
      expect((await sendTo(socket)).status).toBe(200);
    },
  );

  it('by a running gateway is left alone', async () => {
    const { socket, folder, start: begin } = await scene();
    await begin();
    const other = await run(['serve'], { folder });
    expect(other.exit.code).toBe(1);
    expect(other.stderr).toContain(`cannot listen on ${socket}: another process listens there`);
    expect((await sendTo(socket)).status).toBe(200);
  });

  it('by a file is left alone', async () => {
    const { socket, folder } = await scene();
    writeFileSync(socket, 'mine');
    const { exit, stderr } = await run(['serve'], { folder });
    expect(exit.code).toBe(1);
    expect(stderr).toContain('there is a file that is no socket');
    expect(statSync(socket).isFile()).toBe(true);
  });
});

describe('the config of a socket', verifies('gateway:socket:config'), () => {
  const issuers = { issuers: [{ issuer: 'https://login.example' }] };
  it.each([
    [{ listen: { socket: 's', port: 1 } }, 'both `socket` and `port`'],
    [{ listen: { socket: 's', host: 'localhost' } }, 'both `socket` and `host`'],
    [{ listen: { socket: 's', tls: { cert: 'c', key: 'k' } } }, 'both `socket` and `tls`'],
    [{ listen: { mode: '0600' } }, '`mode` has no effect here'],
    [{ listen: { socket: 's', mode: 660 } }, 'the rights of the file as text in octal'],
    [{ listen: { socket: 'x'.repeat(200) } }, 'too long for the path of a Unix socket'],
    [{ listen: { trustedProxies: ['unix'] } }, '`0` has no effect here'],
    [{ listen: { socket: 's' }, identity: issuers }, 'the config does not say which URL clients use'],
    [{ backends: { b: { url: 'http://localhost/mcp', socket: 's', auth: 'oauth' } } }, '`auth` has no effect here'],
    [{ backends: { b: { command: 'x', socket: 's' } } }, '`socket` has no effect here'],
  ])('%j is refused', async (config, why) => {
    const { exit, stderr } = await run(['config', 'check', 'bascule.yaml'], configFile({ backends: {}, ...config }));
    expect({ code: exit.code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(why) });
  });

  it('needs no authentication to be local, and `config check` shows where it is', async () => {
    const config = configFile({ backends: {}, listen: { socket: 'mcp.sock', mode: '0600' } });
    const { exit, stdout } = await run(['config', 'check', 'bascule.yaml'], config);
    expect(exit.code).toBe(0);
    expect(stdout).toMatch(/unix:\S+mcp\.sock \(mode 0600\)/);
  });
});

describe('a backend behind a Unix socket', verifies('gateway:socket:backend'), () => {
  it('is reached there, and is told the host of its `url`', async () => {
    const backend = await modernBackend(script);
    const path = join(newFolder(), 'backend.sock');
    const hosts: (string | undefined)[] = [];
    const relay = createServer((req, res) => {
      hosts.push(req.headers.host);
      const on = httpRequest(backend.url, { method: req.method ?? 'GET', headers: req.headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(res);
      });
      on.on('error', () => res.destroy());
      req.pipe(on);
    });
    await new Promise<void>((resolve) => relay.listen(path, resolve));
    onTestFinished(() => {
      relay.closeAllConnections();
      relay.close();
    });
    const config = { backends: { b: { url: 'http://tools.internal/mcp', socket: path } } };
    const served = await serve([], configFile(config));
    const answer = await send(served.url('b'), aCall());
    expect(answer.json()).toMatchObject({ result: { resultType: 'complete' } });
    expect(new Set(hosts)).toEqual(new Set(['tools.internal']));
  });
});
