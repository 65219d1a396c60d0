/** The files of a release, made once for a run of the tests. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { project } from './clean-root.ts';

/** The name of a file that the release script has made, by its end. */
export function released(end: string): string {
  const folder = join(project, 'release');
  const name = (existsSync(folder) ? readdirSync(folder) : []).find((file) => file.endsWith(end));
  if (name === undefined) throw new Error(`release/ has no file *${end}: npm run release makes it`);
  return name;
}

/** What the last commit has, as `git clone` gets it. */
export function cloneInto(folder: string): void {
  execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${project}`, folder]);
}
