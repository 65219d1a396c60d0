/** Where a path leads, links followed, also where its last parts do not exist yet. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}
