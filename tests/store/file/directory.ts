/** A directory for one test, gone afterwards. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type FileStore, openFileStore } from '../../../src/store/file/open.ts';

export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'bascule-store-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Closed after the test. Warnings are failures unless the test listens. */
export async function openStore(dir: string, now: () => number = Date.now): Promise<FileStore> {
  const store = await openFileStore({
    dir,
    now,
    warn: (text) => {
      throw new Error(text);
    },
  });
  onTestFinished(() => store.records.close());
  return store;
}
