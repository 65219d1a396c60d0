/**
 * Names repeat from message to message, and finding one again costs less than making a string out of bytes anew. So short
 * plain ones are kept, the last one per slot: bounded, and nothing depends on what is in there.
 */
import { textAt } from './values.ts';

/** A power of two: room for the names of the protocol and for the arguments of a busy endpoint. */
const SLOTS = 512;
/** Longer names are rare and not worth keeping. */
const KEPT_LENGTH = 64;

const kept: string[] = new Array<string>(SLOTS).fill('');
/** The same names as bytes, a slot after the other: two byte arrays compare faster than a string and one. */
const keptBytes = new Uint8Array(SLOTS * KEPT_LENGTH);

/** The decoded text between two quotes; `start` and `end` exclude them. */
export function nameAt(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length === 0 || length > KEPT_LENGTH) return decode(bytes, start, end);
  const first = bytes[start] as number;
  const middle = bytes[start + (length >> 1)] as number;
  const last = bytes[end - 1] as number;
  const slot = (first + middle * 5 + last * 13 + length * 71) & (SLOTS - 1);
  const candidate = kept[slot] as string;
  if (candidate.length === length) {
    const offset = slot * KEPT_LENGTH - start;
    let i = start;
    while (i < end && keptBytes[offset + i] === bytes[i]) i++;
    if (i === end) return candidate;
  }
  const name = decode(bytes, start, end);
  if (isPlain(bytes, start, end)) {
    kept[slot] = internalized(name);
    keptBytes.set(bytes.subarray(start, end), slot * KEPT_LENGTH);
  }
  return name;
}

function isPlain(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] === 0x5c || (bytes[i] as number) > 0x7f) return false;
  return true;
}

/** The engine's own copy of a property name, which it compares with literals by address. */
function internalized(name: string): string {
  return Object.keys({ [name]: undefined })[0] ?? name;
}

/** A malformed escape can only come from a backend; the name is then what was written. */
function decode(bytes: Uint8Array, start: number, end: number): string {
  const text = textAt(bytes, { start, end });
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
