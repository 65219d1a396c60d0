/**
 * How a record stands in the file. Its name is `collection NUL key`, in UTF-8, so that the file's order is the order of keys.
 * LMDB takes names of up to 1978 bytes: of a longer key the name has the beginning and a hash, and the entry has the whole.
 */
import { createHash } from 'node:crypto';
import { recordLimits } from '../limits.ts';

/** With the longest collection, the NUL and a hash, still a name that LMDB takes. */
const HEAD_BYTES = 1400;

const FORMAT = 1;
const ENTRY_HEADER_BYTES = 13;

export interface StoredEntry {
  /** Milliseconds since 1970; infinity where it has no end. */
  readonly endsAt: number;
  /** Where the name does not have the whole of it. */
  readonly longKey: Buffer;
  readonly value: string;
}

export function nameOf(collection: string, key: string): Buffer {
  const bytes = Buffer.from(key);
  const start = Buffer.from(`${collection}\0`);
  if (bytes.length <= HEAD_BYTES) return Buffer.concat([start, bytes]);
  return Buffer.concat([start, bytes.subarray(0, HEAD_BYTES), createHash('sha256').update(bytes).digest()]);
}

/** Where the names begin that can have such a key. */
export function rangeOf(collection: string, prefix: string): Buffer {
  const head = Buffer.from(prefix).subarray(0, HEAD_BYTES);
  return Buffer.concat([Buffer.from(`${collection}\0`), head]);
}

/** What keys have in common that are ordered by their hashes; undefined for a name that has the whole key. */
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

/** Undefined for bytes that we have not written. */
export function decodeEntry(bytes: Buffer): StoredEntry | undefined {
  if (bytes.length < ENTRY_HEADER_BYTES || bytes.readUInt8(0) !== FORMAT) return undefined;
  const longKeyBytes = bytes.readUInt32BE(9);
  if (longKeyBytes > recordLimits.keyBytes || bytes.length < ENTRY_HEADER_BYTES + longKeyBytes) return undefined;
  const valueAt = ENTRY_HEADER_BYTES + longKeyBytes;
  return {
    endsAt: bytes.readDoubleBE(1),
    // Copied: LMDB's own memory is only lent.
    longKey: Buffer.from(bytes.subarray(ENTRY_HEADER_BYTES, valueAt)),
    value: bytes.toString('utf8', valueAt),
  };
}

const END_BYTES = 8;

/** The names of the index by end: the earliest first. Times are positive, and the bytes of positive doubles have their order. */
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
