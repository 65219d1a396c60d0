/** What one record may be, whichever store keeps it. */
import { StoreError } from './errors.ts';

export const recordLimits = {
  /** Our own names: short words. */
  collectionBytes: 64,
  /** A client's identifier may be a URL (client ID metadata documents); nobody's address needs more. */
  keyBytes: 8 * 1024,
  /** A grant with the consent, the claims and the registration that it names is a few kilobytes. */
  valueBytes: 256 * 1024,
} as const;

/** UTF-8 has no form for half of a surrogate pair. */
const HALF_A_PAIR = /\p{Surrogate}/u;

/** Whether it comes back from UTF-8 as it was. */
export function isText(text: string): boolean {
  return !HALF_A_PAIR.test(text);
}

/** Under such a key nothing can have been kept: whoever asks for it, maybe with a client's text, is told that there is none. */
export function canBeKey(key: string): boolean {
  return isText(key) && Buffer.byteLength(key) <= recordLimits.keyBytes;
}

/** Rejects what could not be given back as it is. */
export function checkRecord(collection: string, key: string, value: string): void {
  if (collection.includes('\0') || Buffer.byteLength(collection) > recordLimits.collectionBytes)
    throw new StoreError('too_large', 'a collection has a short name without NUL');
  if (!canBeKey(key))
    throw new StoreError(
      'too_large',
      `a key of ${collection} has more than ${recordLimits.keyBytes} bytes, or is no text`,
    );
  if (!isText(value) || Buffer.byteLength(value) > recordLimits.valueBytes)
    throw new StoreError(
      'too_large',
      `a value of ${collection} has more than ${recordLimits.valueBytes} bytes, or is no text`,
    );
}
