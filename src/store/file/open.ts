/** Opens a store in a directory. Several processes of one machine may share it; it must not be on a network drive. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError, type StoreWarn } from '../errors.ts';
import type { Lease, Records } from '../ports.ts';
import { RecordLease } from '../record-lease.ts';
import { prepareDirectory } from './directory.ts';
import { FileEngine } from './engine.ts';
import { examine } from './examine.ts';
import { lookAtFile } from './header.ts';
import { enter } from './presence.ts';
import { FileRecords, type FileRecordsLimits } from './records.ts';
import { makeRoom } from './room.ts';

export interface FileStoreOptions {
  readonly dir: string;
  /** The time of day, in milliseconds since 1970. */
  readonly now: () => number;
  /** Reports failures in the background to operators. */
  readonly warn: StoreWarn;
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
  const presence = enter(dir);
  try {
    const { wasShort } = lookAtFile(path);
    tighten(path);
    makeRoom(path);
    if (wasShort || presence.lost.length > 0) await examine(path);
    presence.forget();
    const records = new FileRecords(await FileEngine.open(path, presence.leave), now, limits);
    records.beginSweeping(warn);
    return { records, lease: new RecordLease(records, now) };
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'foreign') presence.abandon();
    else presence.leave();
    throw error;
  }
}

function tighten(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch (error) {
    throw new StoreError(
      'exposed',
      `${path} belongs to another user: change its owner to the user that runs Bascule`,
      error,
    );
  }
}
