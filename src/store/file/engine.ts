/**
 * The part of LMDB that we use: two trees in one file, and writes that are batched. Writes are synchronous, all of one
 * turn of the event loop in one transaction: they are on the disk when they return, and a full disk is an error that we
 * can catch. LMDB's asynchronous writes report a full disk as an unhandled rejection.
 */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { fullDisk, StoreError } from '../errors.ts';
import { foreign } from './header.ts';

/** LMDB maps the file into memory: this much address space, but only as much disk as is used. */
const MAP_BYTES = 256 * 1024 * 1024;

/** The rest waits for the next turn, so that many writes do not block the event loop. */
const WRITES_PER_COMMIT = 256;

/**
 * With less free space than this, a failed write counts as a full disk: LMDB reports a short write like any other
 * error.
 */
const SCARCE_BYTES = 4 * 1024 * 1024;

/** LMDB's codes for damaged pages. */
const DAMAGE = new Set([-30_797, -30_796, -30_795, -30_794, -30_793, -30_784, -30_782]);
const NO_ROOM = new Set([28, 122, -30_792]);

export type Tree = Database<Buffer, Buffer>;

interface WaitingWrite {
  readonly run: () => void;
  readonly done: () => void;
  readonly failed: (error: StoreError) => void;
}

export class FileEngine {
  readonly records: Tree;
  /** An index of the records that expire, by their end. */
  readonly ends: Tree;
  readonly #path: string;
  readonly #onClosed: () => void;
  readonly #root: RootDatabase<Buffer, Buffer>;
  #waiting: WaitingWrite[] = [];
  #flushing: NodeJS.Immediate | undefined;
  #closed = false;

  private constructor(path: string, root: RootDatabase<Buffer, Buffer>, onClosed: () => void) {
    this.#path = path;
    this.#onClosed = onClosed;
    this.#root = root;
    this.records = root.openDB('records', { encoding: 'binary', keyEncoding: 'binary' });
    this.ends = root.openDB('ends', { encoding: 'binary', keyEncoding: 'binary' });
  }

  /** Loads LMDB only here: it is native code, which only the file store needs. */
  static async open(path: string, onClosed: () => void = () => undefined): Promise<FileEngine> {
    let lmdb: typeof import('lmdb');
    try {
      lmdb = await import('lmdb');
    } catch (error) {
      throw new StoreError(
        'unavailable',
        'the file store needs the package "lmdb" with its native binary for this platform: reinstall Bascule',
        error,
      );
    }
    const options = {
      path,
      noSubdir: true,
      maxDbs: 2,
      mapSize: MAP_BYTES,
      // A commit returns only when it is on the disk.
      overlappingSync: false,
      permissionsMode: 0o600,
    };
    let root: RootDatabase<Buffer, Buffer> | undefined;
    try {
      root = lmdb.open<Buffer, Buffer>(options);
      return new FileEngine(path, root, onClosed);
    } catch (error) {
      await root?.close();
      throw named(path, error);
    }
  }

  read<T>(action: () => T): T {
    if (this.#closed) throw closed();
    try {
      // Read what other processes have committed meanwhile.
      this.#root.resetReadTxn();
      return action();
    } catch (error) {
      throw named(this.#path, error);
    }
  }

  /**
   * Resolves when it is on the disk. An action sees the writes of those before it. All actions of one turn are
   * committed, or none.
   */
  write<T>(action: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) {
        reject(closed());
        return;
      }
      let outcome: T;
      this.#waiting.push({
        run: () => {
          outcome = action();
        },
        done: () => resolve(outcome),
        failed: reject,
      });
      this.#flushing ??= setImmediate(() => this.#flush());
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#waiting.length > 0) this.#flush();
    await this.#root.close();
    this.#onClosed();
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const together = this.#waiting.splice(0, WRITES_PER_COMMIT);
    if (this.#waiting.length > 0) this.#flushing = setImmediate(() => this.#flush());
    try {
      this.#root.transactionSync(() => {
        for (const { run } of together) run();
      });
    } catch (error) {
      const failure = named(this.#path, error);
      for (const { failed } of together) failed(failure);
      return;
    }
    for (const { done } of together) done();
  }
}

/** LMDB knows it without counting. The library's types do not say what its statistics contain. */
export function countOf(tree: Tree): number {
  const stats = tree.getStats();
  return 'entryCount' in stats && typeof stats.entryCount === 'number' ? stats.entryCount : 0;
}

function closed(): StoreError {
  return new StoreError('closed', 'the file store was closed');
}

function named(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = error instanceof Error && 'code' in error ? Number(error.code) : Number.NaN;
  if (DAMAGE.has(code)) return foreign(path, error);
  if (NO_ROOM.has(code) || isScarce(path)) return fullDisk(path, error);
  const why = error instanceof Error ? error.message : 'unknown';
  return new StoreError('unusable', `${path} cannot be read or written: ${why}`, error);
}

function isScarce(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize < SCARCE_BYTES;
  } catch {
    return false;
  }
}
