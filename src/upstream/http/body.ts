/**
 * A body of limited size. Most arrive in one chunk and are never copied. A large body with an announced length is
 * copied as it arrives, so that each chunk is garbage at once, before it grows old.
 */

/** Below this, one chunk is likely to be the whole body. */
export const LARGE_BODY = 64 * 1024;

export class BoundedBody {
  readonly #limit: number;
  /** Memory for the whole body, where its length is known. */
  readonly #whole: Buffer | undefined;
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #size = 0;

  /** `announced` is what the peer claims, and need not be true. */
  constructor(limit: number, announced?: number) {
    this.#limit = limit;
    if (announced !== undefined && announced > LARGE_BODY && announced <= limit) {
      this.#whole = Buffer.allocUnsafeSlow(announced);
    }
  }

  /** False: the body is too large. */
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
