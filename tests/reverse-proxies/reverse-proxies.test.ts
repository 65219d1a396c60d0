/** Traffic through nginx and Caddy, with the files of the guide. Plain HTTP stands in for the certificates. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  expectAnsweredAnywhere,
  expectCancelledAnywhere,
  expectHeardAnywhere,
  expectRetriedAnywhere,
} from '../interaction/harness/anywhere.ts';
import { echo, Held } from '../interaction/harness/behind.ts';
import { send } from '../interaction/harness/client.ts';
import { modern } from '../interaction/harness/eras.ts';
import { legacyBackend } from '../interaction/harness/http-backend.ts';
import { eventually } from '../interaction/harness/limits.ts';
import { freePort } from '../interaction/harness/ports.ts';
import { configFile, serve } from '../interaction/harness/program.ts';
import { AskingBackend } from '../interaction/harness/server-requests.ts';
import { verifies } from '../requirements/verifies.ts';

const page = readFileSync(new URL('../../docs/guides/reverse-proxy.md', import.meta.url), 'utf8');

function fileOf(name: string): string {
  const text = new RegExp(`^\`\`\`\\w+ ${name}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)?.[1];
  if (text === undefined) throw new Error(`the guide has no ${name}`);
  return text;
}

interface ReverseProxy {
  readonly name: string;
  /** Writes the config, and returns the command. */
  command(folder: string, port: number, gateway: string): readonly [string, ...string[]];
}

const proxies: readonly ReverseProxy[] = [
  {
    name: 'nginx',
    command(folder, port, gateway) {
      const server = fileOf('nginx.conf')
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
        .replace(/^ *ssl_.*\n/gm, '')
        .replace('127.0.0.1:8808', gateway);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (path) => `${path}_temp_path ${folder}/${path};`,
      );
      const http = `http { access_log off; ${paths.join(' ')}\n${server}}`;
      const main = `pid ${folder}/pid; error_log ${folder}/log; daemon off; events {}\n${http}\n`;
      writeFileSync(join(folder, 'nginx.conf'), main);
      return ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf')];
    },
  },
  {
    name: 'Caddy',
    command(folder, port, gateway) {
      const site = fileOf('Caddyfile')
        .replace('mcp.example.com {', `http://127.0.0.1:${port} {`)
        .replace('127.0.0.1:8808', gateway);
      writeFileSync(join(folder, 'Caddyfile'), `{\n  admin off\n  grace_period 1s\n}\n${site}`);
      return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
    },
  },
];

/** The origin of the proxy in front of a gateway that has this backend. */
async function startBehind(proxy: ReverseProxy, backend: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-reverse-proxy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const served = await serve([], configFile({ listen: { trustedProxies: ['127.0.0.1'] }, backends: { b: backend } }));
  const port = await freePort();
  const [program, ...args] = proxy.command(folder, port, new URL(served.origin).host);
  const child = spawn(program, args, { env: { ...process.env, HOME: folder }, stdio: 'ignore' });
  const exited = new Promise((resolve) => child.on('exit', resolve));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const origin = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${origin}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  await eventually(isUp, `${proxy.name} and the gateway answer`);
  return origin;
}

describe.each(proxies)('behind $name', verifies('gateway:docs:guides'), (proxy) => {
  it('legacy clients get server requests in streams, and their answers arrive', async () => {
    const backend = await AskingBackend.start('http');
    await expectAnsweredAnywhere(`${await startBehind(proxy, backend.config)}/mcp`);
  });

  it('modern clients retry pending calls', async () => {
    const backend = await AskingBackend.start('http');
    await expectRetriedAnywhere(`${await startBehind(proxy, backend.config)}/mcp`);
  });

  it('a session has its stream, its cancellations and its end', async () => {
    const held = new Held();
    const backend = await legacyBackend({ 'tools/call': held.take });
    await expectCancelledAnywhere(`${await startBehind(proxy, { url: backend.url })}/mcp`, backend, held);
  });

  it('HTTP+SSE works', async () => {
    const backend = await legacyBackend(echo);
    await expectHeardAnywhere(`${await startBehind(proxy, { url: backend.url })}/sse`);
  });

  it('a body of 3 MB passes', async () => {
    const backend = await legacyBackend(echo);
    const url = `${await startBehind(proxy, { url: backend.url })}/mcp`;
    const params = { name: 'x', arguments: { much: 'y'.repeat(3_000_000) } };
    expect((await send(url, modern({ method: 'tools/call', params }))).status).toBe(200);
  });
});
