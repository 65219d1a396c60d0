/** Decodes names with escapes to UTF-8. */

const BACKSLASH = 0x5c;

/** The character that a two-character escape stands for, by its letter; 0 if there is none. */
export const standsFor = new Uint8Array(256);
for (const byte of [0x22 /* " */, BACKSLASH, 0x2f /* / */]) standsFor[byte] = byte;
standsFor[0x62] = 0x08; // b
standsFor[0x66] = 0x0c; // f
standsFor[0x6e] = 0x0a; // n
standsFor[0x72] = 0x0d; // r
standsFor[0x74] = 0x09; // t

/**
 * Writes the text between `start` and `end` to `at`, and returns the offset after it. The escapes are well-formed. Half
 * a surrogate pair, which is refused later, becomes the three bytes that it would have.
 */
export function utf8Into(out: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  let to = at;
  let i = start;
  while (i < end) {
    const byte = bytes[i] as number;
    if (byte !== BACKSLASH) {
      out[to++] = byte;
      i++;
      continue;
    }
    const letter = bytes[i + 1] as number;
    if (letter !== 0x75 /* u */) {
      out[to++] = standsFor[letter] as number;
      i += 2;
      continue;
    }
    let point = unitAt(bytes, i + 2);
    i += 6;
    if (point >= 0xd800 && point < 0xdc00 && i + 5 < end && bytes[i] === BACKSLASH && bytes[i + 1] === 0x75 /* u */) {
      const low = unitAt(bytes, i + 2);
      if (low >= 0xdc00 && low < 0xe000) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        i += 6;
      }
    }
    to = put(out, to, point);
  }
  return to;
}

function put(out: Uint8Array, at: number, point: number): number {
  if (point < 0x80) {
    out[at] = point;
    return at + 1;
  }
  if (point < 0x800) {
    out[at] = 0xc0 | (point >> 6);
    out[at + 1] = 0x80 | (point & 0x3f);
    return at + 2;
  }
  if (point < 0x10000) {
    out[at] = 0xe0 | (point >> 12);
    out[at + 1] = 0x80 | ((point >> 6) & 0x3f);
    out[at + 2] = 0x80 | (point & 0x3f);
    return at + 3;
  }
  out[at] = 0xf0 | (point >> 18);
  out[at + 1] = 0x80 | ((point >> 12) & 0x3f);
  out[at + 2] = 0x80 | ((point >> 6) & 0x3f);
  out[at + 3] = 0x80 | (point & 0x3f);
  return at + 4;
}

function unitAt(bytes: Uint8Array, at: number): number {
  return (
    (digit(bytes[at] as number) << 12) |
    (digit(bytes[at + 1] as number) << 8) |
    (digit(bytes[at + 2] as number) << 4) |
    digit(bytes[at + 3] as number)
  );
}

function digit(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57;
}
