/**
 * `npm run test:redis`: the store in real Redis servers, which the tests start, kill and restart: one server, a
 * replica, a cluster of three. Arguments go to vitest.
 *
 * Needs `redis-server` and `redis-cli` (Debian's package `redis-server`); fails where they are missing.
 */
import { execFileSync, spawnSync } from 'node:child_process';

for (const program of ['redis-server', 'redis-cli']) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
  } catch {
    console.error(`${program} is missing: apt-get install redis-server`);
    process.exit(1);
  }
}

const report = 'tests/requirements/.report.redis.json';
const { status } = spawnSync(
  'npx',
  [
    ...['vitest', 'run', '--config', 'tests/redis/vitest.config.ts'],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...process.argv.slice(2)],
  ],
  { stdio: 'inherit' },
);
process.exitCode = status ?? 1;
