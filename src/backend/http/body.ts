/** A body that is gathered within a bound. Most come in one chunk and are never copied. */
export class BoundedBody {
  readonly #limit: number;
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: too large. */
  add(chunk: Buffer): boolean {
    this.#size += chunk.byteLength;
    if (this.#size > this.#limit) return false;
    if (this.#first === undefined) this.#first = chunk;
    else if (this.#more === undefined) this.#more = [this.#first, chunk];
    else this.#more.push(chunk);
    return true;
  }

  take(): Uint8Array {
    if (this.#more !== undefined) return Buffer.concat(this.#more, this.#size);
    return this.#first ?? new Uint8Array();
  }
}
