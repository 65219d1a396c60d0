/**
 * HalfSipHash-1-3 (J.-P. Aumasson, D. J. Bernstein): a hash with a key, for tables whose names a stranger chooses. Whoever does
 * not know the key cannot make names collide, and so cannot make a table slow. The key is handed in once, at the start.
 * https://github.com/veorq/SipHash
 */
/** After the last word, with nothing to mix in. */
const FINAL_ROUNDS = 3;

let key0 = 0;
let key1 = 0;

export function keyHashes(first: number, second: number): void {
  key0 = first | 0;
  key1 = second | 0;
}

export function keyedHash(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  if (end - start > 4) return longHash(bytes, view, start, end);
  if (end - start === 4) return wordHash(view.getInt32(start, true));
  let word = (end - start) << 24;
  for (let i = start; i < end; i++) word ^= (bytes[i] as number) << ((i - start) << 3);
  return wordHash(word);
}

/** One word to one word: names of up to four bytes cannot have the same hash, but for length, and the key hides their places. */
function wordHash(word: number): number {
  let hash = word ^ key0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13) ^ key1, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function longHash(bytes: Uint8Array, view: DataView, start: number, end: number): number {
  let v0 = key0;
  let v1 = key1;
  let v2 = key0 ^ 0x6c796765;
  let v3 = key1 ^ 0x74656462;
  const last = (end - start) >> 2;
  for (let n = 0, i = start; n <= last + FINAL_ROUNDS; n++, i += 4) {
    let word = 0;
    if (n < last) word = view.getInt32(i, true);
    else if (n === last) {
      // The rest, with the length above it; also where nothing is left.
      word = (end - start) << 24;
      if (i + 2 < end) word |= (bytes[i + 2] as number) << 16;
      if (i + 1 < end) word |= (bytes[i + 1] as number) << 8;
      if (i < end) word |= bytes[i] as number;
    } else if (n === last + 1) v2 ^= 0xff;
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
