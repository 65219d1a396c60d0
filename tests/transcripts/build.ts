/** Builds a revision with its own build script, in a folder of its own. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface Build {
  /** For people. */
  readonly name: string;
  readonly main: string;
  /** Whether a commit is part of it. */
  has(commit: string): boolean;
}

/** `revision` is any that git knows; without it, the working tree is built as it is. */
export function build(revision: string | undefined, folder: string): Build {
  mkdirSync(folder, { recursive: true });
  const dist = join(folder, 'dist');
  const main = join(dist, 'main.js');
  // Native packages are not bundled: both builds use those that are installed here.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, maxBuffer: 1 << 30 });
  const has = (commit: string) =>
    spawnSync('git', ['merge-base', '--is-ancestor', commit, revision ?? 'HEAD'], { cwd: root }).status === 0;
  if (revision === undefined) {
    execFileSync(process.execPath, ['scripts/build.js', dist], { cwd: root });
    return { name: 'the working tree', main, has };
  }
  const commit = git('rev-parse', '--short', '--verify', `${revision}^{commit}`).toString().trim();
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) });
  execFileSync(process.execPath, ['scripts/build.js', dist], { cwd: folder });
  return { name: git('log', '-1', '--format=%h %s', commit).toString().trim(), main, has };
}
