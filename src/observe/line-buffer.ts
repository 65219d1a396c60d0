/**
 * Lines that wait to be written, as bytes outside of the heap. As strings they would survive garbage collections, each
 * in its many parts, and be copied by every one of them. The parts of a line are added one by one, so that no line is
 * ever made as a string.
 */

/** UTF-8 needs at most three bytes for a UTF-16 code unit. */
const MOST_BYTES_EACH = 3;
/** Up to this length, a loop is cheaper than a call of the engine's own writer. */
const SHORT = 256;

/** The engine stores integers up to here unboxed. */
const MOST_THOUSANDTHS = 0x3fffffff;

const ZERO = 0x30;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const POINT = 0x2e;
const COMMA = 0x2c;
const COLON = 0x3a;

export class LineBuffer {
  readonly #usualBytes: number;
  #bytes: Buffer;
  #used = 0;

  /** `usualBytes`: the space that is kept. It grows for more lines, as far as the caller adds them. */
  constructor(usualBytes: number) {
    this.#usualBytes = usualBytes;
    this.#bytes = Buffer.alloc(usualBytes);
  }

  /** Bytes that were added since the last `take`. */
  get size(): number {
    return this.#used;
  }

  add(text: string): void {
    const bytes = this.#room(text.length * MOST_BYTES_EACH);
    const { length } = text;
    let at = this.#used;
    if (length <= SHORT) {
      let i = 0;
      for (let code = 0; i < length; i++) {
        code = text.charCodeAt(i);
        if (code > 0x7f) break;
        bytes[at++] = code;
      }
      if (i === length) {
        this.#used = at;
        return;
      }
    }
    this.#used += bytes.write(text, this.#used, 'utf8');
  }

  /** Adds the beginning of a member of an object: `,"name":`. The name needs no escapes. */
  addKey(name: string): void {
    const { length } = name;
    const bytes = this.#room(length + 4);
    let at = this.#used;
    bytes[at++] = COMMA;
    bytes[at++] = QUOTE;
    for (let i = 0; i < length; i++) bytes[at++] = name.charCodeAt(i);
    bytes[at++] = QUOTE;
    bytes[at++] = COLON;
    this.#used = at;
  }

  /** Adds the text as a JSON string. */
  addString(text: string): void {
    const { length } = text;
    if (length > SHORT) {
      this.add(JSON.stringify(text));
      return;
    }
    const bytes = this.#room(length + 2);
    let at = this.#used;
    bytes[at++] = QUOTE;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      // Text that needs escapes, including lone surrogates, is left to `JSON.stringify`.
      if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
        this.add(JSON.stringify(text));
        return;
      }
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.#used = at;
  }

  /** Adds the number as JSON has it. Fractions with up to three digits are written here: the engine takes long. */
  addNumber(value: number): void {
    const thousandths = Math.round(value * 1_000);
    if (!(thousandths >= 0 && thousandths <= MOST_THOUSANDTHS && thousandths / 1_000 === value)) {
      this.add(JSON.stringify(value));
      return;
    }
    const whole = Math.floor(value);
    this.addDigits(whole);
    let rest = thousandths - whole * 1_000;
    if (rest === 0) return;
    const bytes = this.#room(4);
    bytes[this.#used++] = POINT;
    for (let unit = 100; rest > 0; unit /= 10) {
      const digit = Math.floor(rest / unit);
      bytes[this.#used++] = ZERO + digit;
      rest -= digit * unit;
    }
  }

  /** Adds an integer that is not negative, with at least so many digits. */
  addDigits(value: number, least = 1): void {
    let digits = least;
    for (let most = 10 ** least; most <= value; most *= 10) digits++;
    const bytes = this.#room(digits);
    const end = this.#used + digits;
    let left = value;
    for (let at = end - 1; at >= this.#used; at--) {
      const tenth = Math.floor(left / 10);
      bytes[at] = ZERO + left - tenth * 10;
      left = tenth;
    }
    this.#used = end;
  }

  /** Takes back what was added since the size was `size`. */
  cut(size: number): void {
    this.#used = size;
  }

  /** Returns all lines, and is empty then. */
  take(): string {
    const text = this.#bytes.toString('utf8', 0, this.#used);
    this.#clear();
    return text;
  }

  /** The same as bytes: for a stream, which would have to make bytes of the text. */
  takeBytes(): Uint8Array {
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#used));
    this.#clear();
    return bytes;
  }

  #clear(): void {
    this.#used = 0;
    if (this.#bytes.length > 2 * this.#usualBytes) this.#bytes = Buffer.alloc(this.#usualBytes);
  }

  /** The bytes, with space for so many more. */
  #room(more: number): Buffer {
    const needed = this.#used + more;
    if (needed > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#used);
      this.#bytes = larger;
    }
    return this.#bytes;
  }
}
