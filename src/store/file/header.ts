/**
 * Checks the file before LMDB opens it. LMDB maps the file and trusts it: a file that is not LMDB's, or that is
 * truncated, would end the process with a signal. Here both become an error.
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { StoreError, unusable } from '../errors.ts';

/** A meta page: page header, then magic, version, address, map size, two trees, last page, transaction. */
const META = { magicAt: 24, pageSizeAt: 48, lastPageAt: 144, transactionAt: 152, bytes: 160 } as const;
const MAGIC = 0xbeefc0de;
const LEAST_PAGE = 512;
const MOST_PAGE = 65_536;
/** Size of the writes that append zeros. */
const PIECE_BYTES = 1024 * 1024;
/** If more is missing, the header is damaged. */
const MOST_MISSING_BYTES = 1024 * 1024 * 1024;

export interface Looked {
  /**
   * The file ended before its last page. Either the last pages were free, or the file is damaged: every page has to be
   * read.
   */
  readonly wasShort: boolean;
}

export function lookAtFile(path: string): Looked {
  let file: number;
  try {
    file = openSync(path, 'a+');
  } catch (error) {
    throw unusable(path, 'opened', error, 'it must be a file that this user may write');
  }
  try {
    return look(path, file);
  } finally {
    closeSync(file);
  }
}

function look(path: string, file: number): Looked {
  const size = fstatSync(file).size;
  // LMDB initializes an empty file.
  if (size === 0) return { wasShort: false };
  const first = readMeta(file, 0);
  const pageSize = first?.readUInt32LE(META.pageSizeAt) ?? 0;
  const isPageSize = pageSize >= LEAST_PAGE && pageSize <= MOST_PAGE && Number.isInteger(Math.log2(pageSize));
  const second = isPageSize ? readMeta(file, pageSize) : undefined;
  if (first === undefined || second === undefined || first.readUInt32LE(META.magicAt) !== MAGIC) throw foreign(path);
  const newer =
    first.readBigUInt64LE(META.transactionAt) >= second.readBigUInt64LE(META.transactionAt) ? first : second;
  const missing = (Number(newer.readBigUInt64LE(META.lastPageAt)) + 1) * pageSize - size;
  if (missing <= 0) return { wasShort: false };
  if (missing > MOST_MISSING_BYTES) throw foreign(path);
  appendZeros(file, missing);
  return { wasShort: true };
}

function readMeta(file: number, at: number): Buffer | undefined {
  const bytes = Buffer.alloc(META.bytes);
  return readSync(file, bytes, 0, bytes.length, at) === bytes.length ? bytes : undefined;
}

/**
 * Reading a mapped page beyond the end raises a signal; reading zeros is an error. Appends, and never writes at a
 * position, so that whatever a different process adds meanwhile is kept.
 */
function appendZeros(file: number, missing: number): void {
  for (let left = missing; left > 0; left -= PIECE_BYTES) writeSync(file, Buffer.alloc(Math.min(left, PIECE_BYTES)));
}

export function foreign(path: string, cause?: unknown): StoreError {
  return new StoreError(
    'foreign',
    `${path} is damaged, or is not a store of Bascule: restore it from a backup, or move it away to start with an empty one`,
    cause,
  );
}
