/** Limits of one record, the same for all stores. */
import { StoreError } from './errors.ts';

export const recordLimits = {
  /** Our own names are short words. */
  collectionBytes: 64,
  /** A client id may be a URL (client ID metadata documents); no URL needs more. */
  keyBytes: 8 * 1024,
  /** A grant with its consent, claims and registration is a few kilobytes. */
  valueBytes: 256 * 1024,
} as const;

/** UTF-8 cannot encode a lone surrogate. */
const HALF_A_PAIR = /\p{Surrogate}/u;

/** Whether the text survives encoding as UTF-8. */
function isText(text: string): boolean {
  return !HALF_A_PAIR.test(text);
}

/**
 * False for keys that no record can have. Keys may contain a client's text, so a lookup finds nothing rather than
 * throws.
 */
export function canBeKey(key: string): boolean {
  return isText(key) && Buffer.byteLength(key) <= recordLimits.keyBytes;
}

/** Throws for records that could not be read back unchanged. */
export function checkRecord(collection: string, key: string, value: string): void {
  const { collectionBytes, keyBytes, valueBytes } = recordLimits;
  if (collection.includes('\0') || Buffer.byteLength(collection) > collectionBytes)
    throw new StoreError('too_large', 'a collection has a short name without NUL');
  if (!canBeKey(key))
    throw new StoreError('too_large', `a key of ${collection} has more than ${keyBytes} bytes, or is not text`);
  checkValue(collection, value, valueBytes);
}

export function checkValue(collection: string, value: string, mostBytes: number): void {
  if (isText(value) && Buffer.byteLength(value) <= mostBytes) return;
  throw new StoreError('too_large', `a value of ${collection} has more than ${mostBytes} bytes, or is no text`);
}
