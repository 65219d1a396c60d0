/**
 * `npm run test:redis`: the store in real Redis servers, which the tests start, kill and restart: one server, a
 * replica, a cluster of three. Arguments go to vitest.
 *
 * Needs `redis-server` and `redis-cli` (Debian's package `redis-server`); fails where they are missing. The variable
 * `BASCULE_REDIS_SERVER` names another server, such as `valkey-server`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeAuthority } from './certificates.ts';
import { serverProgram } from './server.ts';

for (const program of [serverProgram, 'redis-cli', 'openssl']) {
  try {
    execFileSync(program, [program === 'openssl' ? 'version' : '--version'], { stdio: 'ignore' });
  } catch {
    console.error(`${program} is missing: apt-get install redis-server openssl`);
    process.exit(1);
  }
}

// Node reads the authorities that it trusts when a process starts.
const folder = mkdtempSync(join(tmpdir(), 'bascule-authority-'));
const { certificate } = makeAuthority(folder);

const report = 'tests/requirements/.report.redis.json';
const { status } = spawnSync(
  'npx',
  [
    ...['vitest', 'run', '--config', 'tests/redis/vitest.config.ts'],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...process.argv.slice(2)],
  ],
  { stdio: 'inherit', env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate } },
);
rmSync(folder, { recursive: true, force: true });
process.exitCode = status ?? 1;
