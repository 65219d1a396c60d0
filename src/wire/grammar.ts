/**
 * The grammar of strings, numbers and literals (RFC 8259; UTF-8 by RFC 3629). Each method returns the offset after the
 * value. Runs of bytes are skipped four at a time: see `lowest`.
 */
import { lowest, OutlineReader } from './outline.ts';
import { standsFor } from './unescape.ts';

export abstract class Grammar extends OutlineReader {
  /** Set by an escape. A caller that needs it resets it before reading a string. */
  protected isEscaped = false;

  /** Records valid JSON that readers interpret differently. */
  protected abstract note(at: number): void;

  /** Skips a string; `start` is the offset after its opening quote. */
  protected string(start: number): number {
    const { bytes, view, end } = this;
    const stop = skipPlain(bytes, view, start, end);
    return stop < end && bytes[stop] === 0x22 /* " */ ? stop + 1 : this.text(stop);
  }

  /** Skips the rest of a string; `at` is its first byte that is not plain ASCII text. */
  private text(at: number): number {
    const { bytes, view, end } = this;
    let i = at;
    while (i < end) {
      const byte = bytes[i] as number;
      if (byte === 0x22 /* " */) return i + 1;
      if (byte === 0x5c /* \ */) i = this.escape(i);
      else if (byte >= 0x80) i = this.multibyte(i);
      else break;
      i = skipPlain(bytes, view, i, end);
    }
    throw this.broken(i);
  }

  private escape(at: number): number {
    const { bytes, end } = this;
    this.isEscaped = true;
    const letter = at + 1 < end ? (bytes[at + 1] as number) : 0;
    if (standsFor[letter] !== 0) return at + 2;
    if (letter === 0x75 /* u */) return this.unicode(at);
    throw this.broken(at);
  }

  /** RFC 8259, section 8.2: half a surrogate pair is grammatical, but every reader interprets it differently. */
  private unicode(at: number): number {
    const { bytes, end } = this;
    const unit = this.hex(at + 2);
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;
    if (unit < 0xdc00 && at + 7 < end && bytes[at + 6] === 0x5c /* \ */ && bytes[at + 7] === 0x75 /* u */) {
      const low = this.hex(at + 8);
      if (low >= 0xdc00 && low <= 0xdfff) return at + 12;
    }
    this.note(at);
    return at + 6;
  }

  private hex(at: number): number {
    if (at + 4 > this.end) throw this.broken(this.end);
    let unit = 0;
    for (let i = at; i < at + 4; i++) {
      const byte = this.bytes[i] as number;
      const letter = byte | 0x20;
      if (byte >= 0x30 && byte <= 0x39) unit = (unit << 4) | (byte - 0x30);
      else if (letter >= 0x61 && letter <= 0x66) unit = (unit << 4) | (letter - 0x57);
      else throw this.broken(i);
    }
    return unit;
  }

  /** RFC 3629, section 4: no overlong forms, no surrogates, nothing above U+10FFFF. Skips a whole run. */
  protected multibyte(at: number): number {
    const { bytes, end } = this;
    let i = at;
    while (i < end && (bytes[i] as number) >= 0x80) {
      const lead = bytes[i] as number;
      if (lead < 0xe0 && lead >= 0xc2 && i + 1 < end && ((bytes[i + 1] as number) & 0xc0) === 0x80) {
        i += 2;
        continue;
      }
      const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      if (lead < 0xc2 || lead > 0xf4 || i + length > end) throw this.broken(i);
      const second = bytes[i + 1] as number;
      // The lowest and highest second byte after some leads, so that each character has one encoding.
      const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
      const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
      if (second < least || second > most) throw this.broken(i);
      if (length > 2 && ((bytes[i + 2] as number) & 0xc0) !== 0x80) throw this.broken(i);
      if (length > 3 && ((bytes[i + 3] as number) & 0xc0) !== 0x80) throw this.broken(i);
      i += length;
    }
    return i;
  }

  protected negative(at: number): number {
    const { bytes, end } = this;
    const i = at + 1;
    return this.fraction(i < end && bytes[i] === 0x30 /* 0 */ ? i + 1 : this.digits(i));
  }

  /** The optional fraction and exponent after an integer. */
  protected fraction(at: number): number {
    const { bytes, end } = this;
    let i = at;
    if (i < end && bytes[i] === 0x2e /* . */) i = this.digits(i + 1);
    if (i < end && ((bytes[i] as number) | 0x20) === 0x65 /* e */) {
      const sign = i + 1 < end ? bytes[i + 1] : -1;
      i = this.digits(sign === 0x2b /* + */ || sign === 0x2d /* - */ ? i + 2 : i + 1);
    }
    return i;
  }

  /** One digit or more. */
  private digits(at: number): number {
    const i = skipDigits(this.bytes, this.view, at, this.end);
    if (i === at) throw this.broken(i);
    return i;
  }

  protected word(at: number): number {
    const { view, end } = this;
    const letters = at + 4 <= end ? view.getInt32(at, true) : 0;
    if (letters === 0x65757274 /* true */ || letters === 0x6c6c756e /* null */) return at + 4;
    if (letters === 0x736c6166 /* fals */ && at + 4 < end && view.getUint8(at + 4) === 0x65 /* e */) return at + 5;
    throw this.broken(at);
  }
}

/** 0 for bytes that stand for themselves in a string, 1 for all others. */
export const special = new Uint8Array(256).fill(1, 0, 0x20).fill(1, 0x80);
special[0x22] = 1; // quote
special[0x5c] = 1; // backslash

/**
 * Offset of the next byte of a string that is not plain ASCII text (a quote, a backslash, a control character, a byte
 * above 0x7f), or the end. In each word the test sets the top bit of every such byte, and possibly false ones above the
 * lowest. Flipping 0x02 puts the quote next to the control characters, so that one subtraction finds both.
 */
function skipPlain(bytes: Uint8Array, view: DataView, at: number, end: number): number {
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
