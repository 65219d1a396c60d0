/** The directory for everything that outlives the process, and how its files are made. */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { unusable } from '../errors.ts';

/**
 * Creates the directory for this user alone. An existing one keeps its permissions; the files in it are private anyway.
 */
export function prepareDirectory(dir: string): void {
  try {
    make(dir);
  } catch (error) {
    throw unusable(dir, 'created', error, 'set store.dir to a directory that this user may write');
  }
}

/**
 * Node's recursive mkdir never returns if the file system answers ENOENT inside an existing directory, as /proc does.
 */
function make(dir: string): void {
  if (existsSync(dir)) return;
  const parent = dirname(dir);
  if (parent !== dir) make(parent);
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    // A different process may have created it in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Writes a temporary file beside `path`, whole and on the disk; passes it to `use`, and removes it. */
export function withDraft(path: string, content: string | Uint8Array, use: (draft: string) => void): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = openSync(draft, 'wx', 0o600);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    use(draft);
  } finally {
    rmSync(draft, { force: true });
  }
}
