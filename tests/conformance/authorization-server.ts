/**
 * The official conformance kit against the bundled authorization server, as it is built and started by people.
 *
 *   tsx tests/conformance/authorization-server.ts
 *
 * Fails unless every scenario of the kit passes, with no warning and nothing skipped. What the kit and the gateway said
 * is in results/authorization-server/.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashPassword } from '../../src/oauth/server/passwords.ts';
import { addUser } from '../../src/oauth/server/user-book.ts';
import { writeUserFile } from '../../src/oauth/server/user-file.ts';
import { Browser } from '../interaction/authserver/browser.ts';
import { freePort } from '../interaction/harness/ports.ts';
import { writeProofs } from '../requirements/proofs.ts';
import { type Check, KIT, PRELOAD } from './kit.ts';
import { ROOT, startGateway } from './processes.ts';

const RESULTS = fileURLToPath(new URL('./results/authorization-server/', import.meta.url));
const SCENARIOS = ['authorization-server-metadata-endpoint', 'authorization-code-grant'];
const who = { name: 'ada', password: 'correct horse battery' };
/** Two scenarios of a second each; what takes longer waits for somebody who does not come. */
const RUN_LIMIT_MS = 60_000;

async function register(origin: string, redirect: string): Promise<string> {
  const response = await fetch(`${origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirect], token_endpoint_auth_method: 'none', client_name: 'The kit' }),
  });
  return ((await response.json()) as { client_id: string }).client_id;
}

/** The kit prints an address and waits; somebody goes there, agrees, and is sent back to the kit. */
async function runKit(origin: string, spec: string, outDir: string): Promise<readonly Check[]> {
  await mkdir(outDir, { recursive: true });
  const port = await freePort();
  const clientId = await register(origin, `http://127.0.0.1:${port}/callback`);
  const args = ['authorization', '--url', origin, '--client-id', clientId, '--port', String(port), '-o', outDir];
  const child = spawn(process.execPath, ['--import', PRELOAD, KIT, ...args, '--spec-version', spec], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let said = '';
  let visit: Promise<unknown> | undefined;
  const hear = (chunk: Buffer) => {
    said += chunk.toString();
    const [, url] = /^(http\S+\/oauth\/authorize\?\S+)\n/m.exec(said) ?? [];
    if (url !== undefined) visit ??= new Browser(origin).agree(url, who).then((back) => fetch(back));
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  await once(child, 'close');
  await visit;
  await writeFile(join(outDir, 'kit.log'), said);
  const folders = (await readdir(outDir, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const texts = await Promise.all(folders.map(({ name }) => readFile(join(outDir, name, 'checks.json'), 'utf8')));
  return texts.flatMap((text) => JSON.parse(text) as Check[]);
}

async function main(): Promise<number> {
  const startTime = Date.now();
  await rm(RESULTS, { recursive: true, force: true });
  await mkdir(RESULTS, { recursive: true });
  const users = addUser(undefined, who.name, await hashPassword(who.password), 0);
  await writeFile(join(RESULTS, 'users.json'), writeUserFile(users));
  const config = {
    backends: {},
    identity: { authServer: { users: join(RESULTS, 'users.json') } },
    store: { dir: join(RESULTS, 'state') },
  };
  const configFile = join(RESULTS, 'bascule.yaml');
  await writeFile(configFile, JSON.stringify(config));
  const nowhere = new URL('http://127.0.0.1:1/mcp');
  const gateway = await startGateway(
    [process.execPath, 'bin/bascule.js', 'serve'],
    configFile,
    join(RESULTS, 'gateway.log'),
    nowhere,
  );
  const proofs = [];
  try {
    for (const spec of ['2025-11-25', '2026-07-28']) {
      const checks = await runKit(gateway.url.origin, spec, join(RESULTS, spec));
      for (const { id, status, errorMessage = '' } of checks) console.log(`${spec}  ${status}  ${id}  ${errorMessage}`);
      const passed = checks.length >= SCENARIOS.length && checks.every(({ status }) => status === 'SUCCESS');
      const title = `the kit's scenarios for authorization servers, ${spec}`;
      proofs.push({ title, passed, verifies: ['gateway:authserver:kit'] as const });
    }
  } finally {
    await gateway.stop();
  }
  await writeProofs('authorization-server', { file: 'tests/conformance/authorization-server.ts', startTime, proofs });
  const failed = proofs.filter(({ passed }) => !passed).length;
  console.log(`\n${proofs.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
