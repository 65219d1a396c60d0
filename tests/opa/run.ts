/**
 * `npm run test:opa`: Open Policy Agent itself decides, by the Rego of docs/policy-decisions.md. Arguments go to
 * vitest.
 *
 * Needs Go, which builds OPA once, from its registry, into node_modules/.cache.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const VERSION = 'v1.22.0';
const folder = join(process.cwd(), 'node_modules', '.cache', `opa-${VERSION}`);
const program = join(folder, 'opa');

if (!existsSync(program)) {
  const env = { ...process.env, GOBIN: folder };
  execFileSync('go', ['install', `github.com/open-policy-agent/opa@${VERSION}`], { env, stdio: 'inherit' });
}

const { status } = spawnSync(
  'npx',
  ['vitest', 'run', '--config', 'tests/opa/vitest.config.ts', ...process.argv.slice(2)],
  { stdio: 'inherit', env: { ...process.env, OPA: program } },
);
process.exitCode = status ?? 1;
