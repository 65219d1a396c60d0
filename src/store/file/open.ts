/** A directory becomes a store. Several processes of one machine may have it open at once; over a network drive none should. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../errors.ts';
import type { Lease, Records } from '../ports.ts';
import { RecordLease } from '../record-lease.ts';
import { prepareDirectory } from './directory.ts';
import { countOf, FileEngine } from './engine.ts';
import { foreign, lookAtFile } from './header.ts';
import { FileRecords, type FileRecordsLimits } from './records.ts';

export interface FileStoreOptions {
  readonly dir: string;
  /** The time of day, in milliseconds since 1970. */
  readonly now: () => number;
  /** For people: what goes wrong in the background. */
  readonly warn: (text: string, facts: Readonly<Record<string, unknown>>) => void;
  readonly limits?: FileRecordsLimits;
}

export interface FileStore {
  /** Closing it closes the store. */
  readonly records: Records;
  readonly lease: Lease;
}

/** Rejects with a StoreError that says what to do. */
export async function openFileStore({ dir, now, warn, limits }: FileStoreOptions): Promise<FileStore> {
  prepareDirectory(dir);
  const path = join(dir, 'records.mdb');
  const { wasShort } = lookAtFile(path);
  tighten(path);
  const engine = await FileEngine.open(path);
  if (wasShort) await readEverything(engine, path);
  const records = new FileRecords(engine, now, limits);
  records.beginSweeping(warn);
  return { records, lease: new RecordLease(records, now) };
}

function tighten(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch (error) {
    throw new StoreError('exposed', `${path} belongs to another user: give it to the one that runs Bascule`, error);
  }
}

/** A page that is missing may be an error, or look like the end: what is read is counted. */
async function readEverything(engine: FileEngine, path: string): Promise<void> {
  try {
    engine.read(() => {
      for (const tree of [engine.records, engine.ends])
        if ([...tree.getKeys()].length !== countOf(tree)) throw foreign(path);
    });
  } catch (error) {
    await engine.close();
    throw error;
  }
}
