/**
 * Member names repeat from message to message, and making a string out of bytes costs more than finding it again. So
 * short plain names are kept, the last one per slot: bounded, and nothing depends on what is in there.
 */
import { textAt } from './values.ts';

/** A power of two. Together the names of the protocol and of a busy endpoint's arguments. */
const SLOTS = 512;
/** Longer names are rare and not worth keeping. */
const KEPT_LENGTH = 48;

const BACKSLASH = 0x5c;
const kept: string[] = new Array<string>(SLOTS).fill('');

/** The decoded name between two quotes; `start` and `end` exclude them. */
export function nameAt(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length > KEPT_LENGTH) return decode(bytes, start, end);
  let hash = length;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte > 0x7f || byte === BACKSLASH) return decode(bytes, start, end);
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  const slot = (hash ^ (hash >>> 9)) & (SLOTS - 1);
  const candidate = kept[slot] as string;
  if (candidate.length === length && sameText(candidate, bytes, start)) return candidate;
  const name = textAt(bytes, { start, end });
  kept[slot] = name;
  return name;
}

function sameText(text: string, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** A malformed escape can only come from a backend; its name is then what was written. */
function decode(bytes: Uint8Array, start: number, end: number): string {
  const text = textAt(bytes, { start, end });
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
