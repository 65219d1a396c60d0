/**
 * Ids of our requests to backends, which also serve as our progress tokens. Each is random: several callers, and
 * several gateway processes, can share one process or session of a backend, and a caller that could guess the id of
 * another caller's request could make the backend answer it. Ids are never reused, so a late answer matches no request.
 * They are strings, because some servers have 32-bit integers.
 */
import { randomBytes } from 'node:crypto';

/** Base64url: 6 bits a character, 96 bits in all. Some servers accept only letters, digits, `-` and `_`. */
const LENGTH = 16;
/** Ids drawn at once: asking the system for random bytes is the expensive part. */
const DRAWN = 64;

let drawn = '';
let used = 0;

export class Ids {
  /** The JSON token of a new id. */
  next(): string {
    if (used === drawn.length) {
      drawn = randomBytes((DRAWN * LENGTH * 6) / 8).toString('base64url');
      used = 0;
    }
    const id = drawn.slice(used, used + LENGTH);
    used += LENGTH;
    return `"${id}"`;
  }
}

/** `Id.key` of one of our ids. */
export function keyOf(id: string): string {
  return `s${id.slice(1, -1)}`;
}
