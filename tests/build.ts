/**
 * Builds the program for the tests that start it. A build serves every run until a source changes. It is not in `dist`,
 * so that a run of the tests does not disturb who uses or measures `dist` at the same time.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The file that `node` runs. */
    readonly executable: string | undefined;
  }
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, 'node_modules', '.cache', 'bascule-tests');
/** Builds that were not used for so long are deleted. */
const KEPT_MS = 24 * 60 * 60 * 1000;

export function setup({ provide }: TestProject): void {
  const folder = join(cache, fingerprint());
  try {
    if (!existsSync(folder)) build(folder);
  } catch (error) {
    // Most tests can do without it; those that cannot will say that it is not there.
    console.error(`The program was not built: ${String(error)}`);
    return;
  }
  for (const name of readdirSync(cache)) {
    const other = join(cache, name);
    if (other !== folder && Date.now() - statSync(other).mtimeMs > KEPT_MS)
      rmSync(other, { recursive: true, force: true });
  }
  provide('executable', join(folder, 'bin', 'bascule.js'));
}

function build(folder: string): void {
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  cpSync(join(root, 'bin'), join(draft, 'bin'), { recursive: true });
  execFileSync(process.execPath, ['scripts/build.js', join(draft, 'dist')], { cwd: root });
  try {
    renameSync(draft, folder);
  } catch {
    // Another run was faster, with the same sources.
    rmSync(draft, { recursive: true, force: true });
  }
}

/** A hash of the names and times of all files that the program is built from. */
function fingerprint(): string {
  const hash = createHash('sha256');
  for (const part of ['src', 'bin', 'scripts', 'package-lock.json'].map((name) => join(root, name))) {
    const names = statSync(part).isDirectory() ? readdirSync(part, { recursive: true, encoding: 'utf8' }).sort() : [''];
    for (const name of names) hash.update(`${name} ${statSync(join(part, name)).mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}
