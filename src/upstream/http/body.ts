/**
 * A body that is gathered within a bound. Most come in one chunk and are never copied. A large one whose length was announced
 * is copied as it comes, so that its chunks are garbage at once, and not when all of them are old.
 */

/** Below this, one chunk is likely to be all. */
const LARGE = 64 * 1024;

export class BoundedBody {
  readonly #limit: number;
  /** Memory for all of it, where its length is known. */
  readonly #whole: Buffer | undefined;
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #size = 0;

  /** `announced` is what the peer said, and need not be true. */
  constructor(limit: number, announced?: number) {
    this.#limit = limit;
    if (announced !== undefined && announced > LARGE && announced <= limit) {
      this.#whole = Buffer.allocUnsafeSlow(announced);
    }
  }

  /** False: too large. */
  add(chunk: Buffer): boolean {
    const at = this.#size;
    this.#size += chunk.byteLength;
    if (this.#size > this.#limit) return false;
    if (this.#whole !== undefined) return chunk.copy(this.#whole, at) === chunk.byteLength;
    if (this.#first === undefined) this.#first = chunk;
    else if (this.#more === undefined) this.#more = [this.#first, chunk];
    else this.#more.push(chunk);
    return true;
  }

  take(): Uint8Array {
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.#size);
    if (this.#more !== undefined) return Buffer.concat(this.#more, this.#size);
    return this.#first ?? new Uint8Array();
  }
}
