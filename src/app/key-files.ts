/** Key files on disk. A change replaces the file in one step, and only its owner can read it. */
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { ListFileError } from '../identity/list-file.ts';
import type { FilePort } from '../identity/watched-file.ts';
import { readTrustedFile } from './trusted-file.ts';

const OWNER_ONLY = 0o600;

export function keyFileAt(path: string): FilePort {
  return {
    stamp: () => {
      const stat = statSync(path, { throwIfNoEntry: false });
      // Include the inode: two changes within one tick of the file system's clock can have the same size.
      return stat === undefined ? undefined : [stat.ino, stat.mtimeMs, stat.size].join('-');
    },
    read: () => readTrustedFile(path) ?? '',
  };
}

/**
 * Reads, changes and replaces the file. The new file is created beside the old one under a fixed name, exclusively. So
 * no change is lost where two happen at once: the second one is refused. `mode`: the rights of the new file.
 */
export function replaceFile(
  path: string,
  change: (text: string | undefined) => string,
  mode: number = OWNER_ONLY,
): void {
  const beside = `${path}.new`;
  let handle: number;
  try {
    handle = openSync(beside, 'wx', OWNER_ONLY);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw new ListFileError(`another process is changing it; if none is, delete ${beside}`);
  }
  let isOpen = true;
  try {
    writeSync(handle, change(readTrustedFile(path)));
    // The umask has narrowed the rights that the file was created with.
    if (mode !== OWNER_ONLY) fchmodSync(handle, mode);
    fsyncSync(handle);
    closeSync(handle);
    isOpen = false;
    renameSync(beside, path);
  } catch (error) {
    if (isOpen) closeSync(handle);
    rmSync(beside, { force: true });
    throw error;
  }
}
