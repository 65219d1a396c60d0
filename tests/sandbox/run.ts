/**
 * `npm run test:sandbox`: backends in sandboxes that try to get out. Arguments go to vitest. Needs Linux, bubblewrap
 * 0.8 or later (Debian's package `bubblewrap`), user namespaces, and control groups in which the user may make groups
 * (root may); fails without them.
 */
import { spawnSync } from 'node:child_process';
import { incapable } from '../../src/upstream/stdio/sandbox/machine.ts';

const settings = { network: false, read: [], write: [], memoryBytes: 128 * 1024 ** 2, processes: 64 };
const reason = await incapable(settings, process.env.PATH ?? '');
if (reason !== undefined) {
  console.error(`this machine cannot make a sandbox: ${reason.why}\n${reason.cure}`);
  process.exit(1);
}

const { status } = spawnSync(
  'npx',
  [
    ...['vitest', 'run', '--config', 'tests/sandbox/vitest.config.ts', '--reporter=default'],
    ...['--reporter=json', '--outputFile.json=tests/requirements/.report.sandbox.json'],
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit' },
);
process.exitCode = status ?? 1;
