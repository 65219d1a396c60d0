/**
 * Skips runs of bytes, four at a time: a test on a 32-bit word finds whether one of its bytes ends the run, and which.
 * Several times faster than byte by byte, mostly because there are fewer branches to predict.
 */

/** 0 for bytes that stand for themselves in a string, 1 for all others. */
export const special = new Uint8Array(256).fill(1, 0, 0x20).fill(1, 0x80);
special[0x22] = 1; // quote
special[0x5c] = 1; // backslash

/**
 * Offset of the next byte of a string that is not plain ASCII text (a quote, a backslash, a control character, a byte
 * above 0x7f), or the end. In each word the test sets the top bit of every such byte, and possibly false ones above the
 * lowest. Flipping 0x02 puts the quote next to the control characters, so that one subtraction finds both.
 */
export function skipPlain(bytes: Uint8Array, view: DataView, at: number, end: number): number {
  let i = at;
  while (i + 8 <= end) {
    const x = view.getInt32(i, true);
    const low = (((x ^ 0x02020202) - 0x21212121) | ((x ^ 0x5c5c5c5c) - 0x01010101) | x) & 0x80808080;
    if (low !== 0) return i + lowest(low);
    const y = view.getInt32(i + 4, true);
    const high = (((y ^ 0x02020202) - 0x21212121) | ((y ^ 0x5c5c5c5c) - 0x01010101) | y) & 0x80808080;
    if (high !== 0) return i + 4 + lowest(high);
    i += 8;
  }
  while (i < end && special[bytes[i] as number] === 0) i++;
  return i;
}

/** Offset of the next quote or backslash, or the end. */
export function skipToQuote(bytes: Uint8Array, view: DataView, at: number, end: number): number {
  let i = at;
  while (i + 4 <= end) {
    const word = view.getInt32(i, true);
    const quotes = word ^ 0x22222222;
    const backslashes = word ^ 0x5c5c5c5c;
    const hits = (((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080;
    if (hits !== 0) return i + lowest(hits);
    i += 4;
  }
  while (i < end && bytes[i] !== 0x22 && bytes[i] !== 0x5c) i++;
  return i;
}

/**
 * Offset of the next quote or bracket, or the end. The four brackets share bits that no other byte outside of strings
 * has. In malformed text other bytes may have them too, and are found as well.
 */
export function skipToStructure(bytes: Uint8Array, view: DataView, at: number, end: number): number {
  let i = at;
  while (i + 4 <= end) {
    const word = view.getInt32(i, true);
    const quotes = word ^ 0x22222222;
    const brackets = (word | 0x26262626) ^ 0x7f7f7f7f;
    const hits = (((quotes - 0x01010101) & ~quotes) | ((brackets - 0x01010101) & ~brackets)) & 0x80808080;
    if (hits !== 0) return i + lowest(hits);
    i += 4;
  }
  while (i < end && bytes[i] !== 0x22 && ((bytes[i] as number) & 0x59) !== 0x59) i++;
  return i;
}

/** Offset of the next byte that is not a digit, or the end. */
export function skipDigits(bytes: Uint8Array, view: DataView, at: number, end: number): number {
  let i = at;
  while (i + 4 <= end) {
    const word = view.getInt32(i, true);
    const others = ((((word ^ 0x30303030) & 0x7f7f7f7f) + 0x76767676) | word) & 0x80808080;
    if (others !== 0) return i + lowest(others);
    i += 4;
  }
  while (i < end && (bytes[i] as number) >= 0x30 && (bytes[i] as number) <= 0x39) i++;
  return i;
}

/** The index of the byte that holds the lowest set bit. */
function lowest(bits: number): number {
  return (31 - Math.clz32(bits & -bits)) >> 3;
}
