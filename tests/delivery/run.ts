/**
 * `npm run test:delivery`: makes a release of this tree, and installs it where nothing else is. Arguments go to vitest.
 * Needs bubblewrap (Debian's package `bubblewrap`) and the registry of npm; fails without them. With BASCULE_CLONE=1
 * also from a clone, which takes minutes.
 */
import { spawnSync } from 'node:child_process';

if (spawnSync('bwrap', ['--version'], { stdio: 'ignore' }).status !== 0) {
  console.error('bwrap is missing: apt-get install bubblewrap');
  process.exit(1);
}

const platform = `linux-${process.arch}`;
const steps = [
  ['npm', 'run', '--silent', 'release', '--', '--unreleased', '--archive', platform],
  [
    ...['npx', 'vitest', 'run', '--config', 'tests/delivery/vitest.config.ts', '--reporter=default'],
    ...['--reporter=json', '--outputFile.json=tests/requirements/.report.delivery.json'],
    ...process.argv.slice(2),
  ],
];
for (const [program = '', ...args] of steps) {
  const { status } = spawnSync(program, args, { stdio: 'inherit' });
  if (status === 0) continue;
  process.exitCode = status ?? 1;
  break;
}
