/**
 * Keyed hashes for names that a client chooses. Without the key no client can construct names that collide, so none can
 * make the search for duplicates slow. The key is set once, at start-up.
 */
import { utf8Into } from './unescape.ts';

/** Names of up to this many bytes are short. */
const SHORT_NAME = 16;
/** 256 random words for each byte position of a short name. */
export const SHORT_PLACES = SHORT_NAME * 256;
/** Rounds after the last word, without input. */
const FINAL_ROUNDS = 3;

let key0 = 0;
let key1 = 0;
/** A random word for every byte value at every position of a short name. */
export const randomWords = new Int32Array(SHORT_PLACES);

export function keyHashes(first: number, second: number): void {
  key0 = first | 0;
  key1 = second | 0;
  const place = new Uint8Array(4);
  const view = new DataView(place.buffer);
  for (let i = 0; i < randomWords.length; i++) {
    view.setInt32(0, i, true);
    randomWords[i] = longHash(place, view, 0, 4);
  }
}

keyHashes(0, 0);

/**
 * The hash of a short name is the xor of its random words: simple tabulation (M. Pătraşcu, M. Thorup, "The Power of
 * Simple Tabulation Hashing"). With it names collide only by chance, however they were chosen.
 */
export function keyedHash(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  if (end - start > SHORT_NAME) return longHash(bytes, view, start, end);
  let hash = 0;
  for (let i = start, place = 0; i < end; i++, place += 256) {
    hash ^= randomWords[place | (bytes[i] as number)] as number;
  }
  return hash;
}

/** Buffer for decoding names with escapes. A longer name gets its own buffer. */
const scratch = Buffer.allocUnsafeSlow(1024);
const scratchView = new DataView(scratch.buffer);

/** The hash of the decoded form of a name with escapes. */
export function decodedHash(bytes: Uint8Array, start: number, end: number): number {
  const room = end - start > scratch.byteLength ? Buffer.allocUnsafeSlow(end - start) : scratch;
  const view = room === scratch ? scratchView : new DataView(room.buffer);
  return keyedHash(room, view, 0, utf8Into(room, 0, bytes, start, end));
}

/** HalfSipHash-1-3 (J.-P. Aumasson, D. J. Bernstein), https://github.com/veorq/SipHash */
function longHash(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  const whole = end - ((end - start) & 3);
  // The bytes after the last whole word, with the length in the top byte.
  let rest = (end - start) << 24;
  for (let i = whole; i < end; i++) rest |= (bytes[i] as number) << ((i - whole) << 3);
  let v0 = key0;
  let v1 = key1;
  let v2 = key0 ^ 0x6c796765;
  let v3 = key1 ^ 0x74656462;
  const last = whole + 4 * FINAL_ROUNDS;
  for (let i = start; i <= last; i += 4) {
    const word = i < whole ? view.getInt32(i, true) : i === whole ? rest : 0;
    if (i === whole + 4) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  return v1 ^ v3;
}
