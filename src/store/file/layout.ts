/**
 * The format of a record in the file. Its name is `collection NUL key` in UTF-8, so that the file's order is the order
 * of keys. LMDB allows names of up to 1978 bytes: for a longer key, the name has its start and a hash, and the entry
 * has the whole key.
 */
import { createHash } from 'node:crypto';
import { recordLimits } from '../limits.ts';

/** With the longest collection, the NUL and a hash, the name still fits. */
const HEAD_BYTES = 1400;

const FORMAT = 1;
const ENTRY_HEADER_BYTES = 13;

export interface StoredEntry {
  /** Milliseconds since 1970; infinity if it does not expire. */
  readonly endsAt: number;
  /** The whole key, if it does not fit into the name; else empty. */
  readonly longKey: Buffer;
  readonly value: string;
}

export function nameOf(collection: string, key: string): Buffer {
  const bytes = Buffer.from(key);
  const start = Buffer.from(`${collection}\0`);
  if (bytes.length <= HEAD_BYTES) return Buffer.concat([start, bytes]);
  return Buffer.concat([start, bytes.subarray(0, HEAD_BYTES), createHash('sha256').update(bytes).digest()]);
}

/** The start of the range of names for keys with this prefix. */
export function rangeOf(collection: string, prefix: string): Buffer {
  const head = Buffer.from(prefix).subarray(0, HEAD_BYTES);
  return Buffer.concat([Buffer.from(`${collection}\0`), head]);
}

/** The shared start of long keys, which are ordered by their hashes; undefined for a name that has the whole key. */
export function headOf(collection: string, name: Buffer): Buffer | undefined {
  const before = Buffer.byteLength(collection) + 1;
  return name.length - before <= HEAD_BYTES ? undefined : name.subarray(0, before + HEAD_BYTES);
}

export function keyOf(collection: string, name: Buffer, entry: StoredEntry): string {
  const bytes = entry.longKey.length > 0 ? entry.longKey : name.subarray(Buffer.byteLength(collection) + 1);
  return bytes.toString();
}

export function encodeEntry(key: string, value: string, endsAt: number): Buffer {
  const keyBytes = Buffer.from(key);
  const longKey = keyBytes.length > HEAD_BYTES ? keyBytes : Buffer.alloc(0);
  const header = Buffer.alloc(ENTRY_HEADER_BYTES);
  header.writeUInt8(FORMAT, 0);
  header.writeDoubleBE(endsAt, 1);
  header.writeUInt32BE(longKey.length, 9);
  return Buffer.concat([header, longKey, Buffer.from(value)]);
}

/** Undefined for bytes in an unknown format. */
export function decodeEntry(bytes: Buffer): StoredEntry | undefined {
  if (bytes.length < ENTRY_HEADER_BYTES || bytes.readUInt8(0) !== FORMAT) return undefined;
  const longKeyBytes = bytes.readUInt32BE(9);
  if (longKeyBytes > recordLimits.keyBytes || bytes.length < ENTRY_HEADER_BYTES + longKeyBytes) return undefined;
  const valueAt = ENTRY_HEADER_BYTES + longKeyBytes;
  return {
    endsAt: bytes.readDoubleBE(1),
    // Copied: LMDB reuses its memory.
    longKey: Buffer.from(bytes.subarray(ENTRY_HEADER_BYTES, valueAt)),
    value: bytes.toString('utf8', valueAt),
  };
}

const END_BYTES = 8;

/**
 * Names in the index by end, the earliest first. Times are positive, and the bytes of positive doubles sort like the
 * numbers.
 */
export function endNameOf(endsAt: number, name: Buffer): Buffer {
  const end = Buffer.alloc(END_BYTES);
  end.writeDoubleBE(Math.max(0, endsAt));
  return Buffer.concat([end, name]);
}

export function endOf(endName: Buffer): number {
  return endName.readDoubleBE(0);
}

export function nameIn(endName: Buffer): Buffer {
  return endName.subarray(END_BYTES);
}
