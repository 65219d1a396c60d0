/**
 * `npm run test:restart`: the gateway is killed, or stopped, and started again under official SDK clients of other
 * languages. Arguments go to vitest. Installs what it needs as `npm run test:interop` does; needs Python 3.11 and Go.
 */
import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { install } from '../install.ts';
import { CACHE } from '../software.ts';

await mkdir(CACHE, { recursive: true });
const failures = await install([{ venv: 'python-v1' }, 'go']);
for (const [set, why] of failures) console.error(`${set} was not installed: ${why}`);

const report = 'tests/requirements/.report.restart.json';
const { status } = spawnSync(
  'npx',
  [
    ...['vitest', 'run', '--config', 'tests/interop/restart/vitest.config.ts'],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...process.argv.slice(2)],
  ],
  { stdio: 'inherit' },
);
process.exitCode = failures.size > 0 ? 1 : (status ?? 1);
