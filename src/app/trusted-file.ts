/**
 * Reads files that decide who gets access, what is run and with which secrets: the config, what it includes, keys and
 * users. A file that every user of the machine may write is refused, because then every user could decide that.
 */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';

const OTHERS_WRITE = 0o002;

export class UnsafeFileError extends Error {
  override readonly name = 'UnsafeFileError';
  readonly code = 'writable by every user: remove that permission with chmod o-w';
}

/** Undefined where the file does not exist. Throws what the file system throws, or an UnsafeFileError. */
export function readTrustedFile(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const about = fstatSync(file);
    // Windows has no such permission bits, and a pipe is only as writable as the process that made it.
    if (process.platform !== 'win32' && about.isFile() && (about.mode & OTHERS_WRITE) !== 0)
      throw new UnsafeFileError();
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
