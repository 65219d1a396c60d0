/** The steps of docs/authorization-server.md, as they stand there. What is made up there is real here. */
import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { DEADLINE_MS } from '../harness/client.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { freePort } from '../harness/ports.ts';
import { Program } from '../harness/program.ts';
import { Browser } from './browser.ts';
import { callback, challenge, password } from './setting.ts';

const page = readFileSync(new URL('../../../docs/authorization-server.md', import.meta.url), 'utf8');
const section = (title: string) => page.split(/^## /m).find((text) => text.startsWith(title)) ?? '';
const blocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, body = '']) => body);

/** A folder in which `bascule` is a command. */
function workplace() {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'bascule'), `#!/bin/sh\nexec '${process.execPath}' '${inject('executable')}' "$@"\n`);
  chmodSync(join(folder, 'bascule'), 0o755);
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder };
  const run = async (command: string) =>
    (await promisify(execFile)('sh', ['-c', command], { cwd: folder, env })).stdout;
  return { folder, env, run };
}

it('leads from an empty folder to a connected client', {
  ...verifies('gateway:authserver:recipe', 'gateway:authserver:users'),
  timeout: 60_000,
}, async () => {
  const steps = section('From nothing');
  const backend = await modernBackend();
  const port = await freePort();
  const real = (text: string) =>
    text
      .replaceAll('http://127.0.0.1:3001', new URL(backend.url).origin)
      .replaceAll('127.0.0.1:8808', `127.0.0.1:${port}`);
  const { folder, env, run } = workplace();
  const [config = ''] = blocks(steps, 'yaml');
  writeFileSync(join(folder, 'bascule.yaml'), `${real(config)}listen: { port: ${port} }\n`);
  let checked = 0;
  for (const line of blocks(steps, 'sh').join('').trim().split('\n')) {
    if (line.startsWith('bascule user add')) {
      // Where nobody sits, there is nobody to ask.
      await expect(run(`${line} < /dev/null`)).rejects.toThrow(/--password-stdin/);
      await run(`echo '${password}' | ${line} --password-stdin`);
    } else if (line === 'bascule user list') expect(await run(line)).toMatch(/^ada {2}added \d{4}-/);
    else if (line === 'bascule serve') {
      const child = spawn('bascule', ['serve'], { cwd: folder, env });
      const program = new Program(child);
      onTestFinished(async () => {
        child.kill('SIGTERM');
        await program.exited;
      });
      await program.says(/^Bascule \S+ {2}http/m);
    } else {
      const [, command = '', expected = ''] = /^(.*?)\s+# (.*)$/.exec(line) ?? [];
      await expect
        .poll(async () => (await run(real(command))).trim(), { timeout: DEADLINE_MS, message: line })
        .toBe(real(expected));
      checked += 1;
    }
  }
  expect(checked).toBe(3);

  // What every client of the last block does.
  const origin = `http://127.0.0.1:${port}`;
  const registered = await fetch(`${origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const proof = challenge();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: callback,
    code_challenge: proof.challenge,
    code_challenge_method: 'S256',
  });
  const back = await new Browser(origin).agree(`${origin}/oauth/authorize?${query}`, { name: 'ada', password });
  expect(back.searchParams.get('code')).toBeTruthy();
});

it('has all of its settings in a config that is understood', verifies('gateway:authserver:recipe'), async () => {
  const { folder, run } = workplace();
  const [settings = ''] = blocks(section('The settings'), 'yaml');
  writeFileSync(join(folder, 'bascule.yaml'), settings);
  expect(await run('bascule config check')).toContain('users.json');
});
