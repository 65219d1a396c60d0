/**
 * Lines that wait to be written, as bytes outside of the heap. As strings they would survive garbage collections, each
 * in its many parts, and be copied by every one of them.
 */

/** UTF-8 needs at most three bytes for a UTF-16 code unit. */
const MOST_BYTES_EACH = 3;

export class LineBuffer {
  readonly #usualBytes: number;
  #bytes: Buffer;
  #used = 0;

  /** `usualBytes`: the space that is kept. It grows for more lines, as far as the caller adds them. */
  constructor(usualBytes: number) {
    this.#usualBytes = usualBytes;
    this.#bytes = Buffer.alloc(usualBytes);
  }

  add(line: string): void {
    const needed = this.#used + line.length * MOST_BYTES_EACH;
    if (needed > this.#bytes.length) this.#grow(needed);
    this.#used += this.#bytes.write(line, this.#used, 'utf8');
  }

  /** Returns all lines, and is empty then. */
  take(): string {
    const text = this.#bytes.toString('utf8', 0, this.#used);
    this.#used = 0;
    if (this.#bytes.length > 2 * this.#usualBytes) this.#bytes = Buffer.alloc(this.#usualBytes);
    return text;
  }

  #grow(needed: number): void {
    const larger = Buffer.alloc(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#used);
    this.#bytes = larger;
  }
}
