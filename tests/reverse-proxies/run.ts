/**
 * `npm run test:reverse-proxies`: the files of docs/guides/reverse-proxy.md in nginx and Caddy, with traffic through
 * them. Arguments go to vitest. Needs both programs (Debian's packages `nginx-light` and `caddy`); fails without them.
 */
import { spawnSync } from 'node:child_process';

for (const [program, flag] of [
  ['nginx', '-v'],
  ['caddy', 'version'],
] as const) {
  if (spawnSync(program, [flag], { stdio: 'ignore' }).status === 0) continue;
  console.error(`${program} is missing: apt-get install nginx-light caddy`);
  process.exit(1);
}

const { status } = spawnSync(
  'npx',
  [
    ...['vitest', 'run', '--config', 'tests/reverse-proxies/vitest.config.ts', '--reporter=default'],
    ...['--reporter=json', '--outputFile.json=tests/requirements/.report.reverse-proxies.json'],
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit' },
);
process.exitCode = status ?? 1;
