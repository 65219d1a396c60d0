/** Reads every page of a store in a separate process, since damage can crash it. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { foreign } from './header.ts';

/** Reading a million records takes a second or two. */
const EXAMINE_MS = 60_000;

/**
 * Counts the entries, since a lost page can look like the end of a tree. Then begins a write, to check the free pages,
 * and aborts it.
 */
const CODE = `
const { open, ABORT } = require(process.argv[1]);
const root = open({ path: process.argv[2], noSubdir: true, maxDbs: 2, overlappingSync: false, permissionsMode: 0o600 });
for (const name of ['records', 'ends']) {
  const tree = root.openDB(name, { encoding: 'binary', keyEncoding: 'binary' });
  let count = 0;
  for (const { value } of tree.getRange()) count += value ? 1 : 0;
  if (count !== tree.getStats().entryCount) process.exit(1);
  root.transactionSync(() => {
    tree.putSync(Buffer.from('~'), Buffer.alloc(10000));
    return ABORT;
  });
}
root.close();
`;

/** Rejects with a StoreError if the process fails. */
export async function examine(path: string): Promise<void> {
  const lmdb = createRequire(import.meta.url).resolve('lmdb');
  try {
    await promisify(execFile)(process.execPath, ['--input-type=commonjs', '-e', CODE, lmdb, path], {
      timeout: EXAMINE_MS,
      windowsHide: true,
    });
  } catch (error) {
    throw foreign(path, error);
  }
}
