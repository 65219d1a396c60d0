/**
 * Reserves space for what LMDB writes when it first opens a store. On a full disk, writing its first pages and its
 * reader table would end the process with a signal. Writing zeros first turns a full disk into an error.
 */
import { existsSync, linkSync, statSync } from 'node:fs';
import { fullDisk, unusable } from '../errors.ts';
import { withDraft } from './directory.ts';

/** Ten times what LMDB writes for an empty store. */
const FIRST_BYTES = 512 * 1024;

/** Room for some 250 readers. LMDB uses the table in the size that it finds; by default it creates one of 8 KB. */
const READER_TABLE_BYTES = 16 * 1024;

/** Throws a StoreError. */
export function makeRoom(path: string): void {
  if (statSync(path).size === 0) withZeros(path, `${path}.room`, FIRST_BYTES, () => undefined);
  const table = `${path}-lock`;
  // Link, do not rename: a table that a different process created in the meantime is in use and must stay.
  if (!existsSync(table)) withZeros(path, table, READER_TABLE_BYTES, (draft) => linkSync(draft, table));
}

/** Writes every block of a temporary file, passes it to `use`, and removes it. */
function withZeros(path: string, name: string, bytes: number, use: (draft: string) => void): void {
  try {
    withDraft(name, Buffer.alloc(bytes), use);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') throw fullDisk(path, error);
    throw unusable(name, 'written', error, 'give this user write permission');
  }
}
