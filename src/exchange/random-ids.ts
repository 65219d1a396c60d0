/**
 * Unguessable ids of one length, drawn many at a time: asking the system for random bytes is the expensive part. Ids
 * are never reused.
 */

/** Ids drawn at once. */
const DRAWN = 64;
/** Base64url: 6 bits a character. Some peers accept only letters, digits, `-` and `_`. */
const CHARACTER_BITS = 6;

export class RandomIds {
  readonly #characters: number;
  readonly #draw: (bytes: number) => string;
  #drawn = '';
  #used = 0;

  /** `draw` gives so many random bytes in base64url; `characters` is a multiple of four. */
  constructor(characters: number, draw: (bytes: number) => string) {
    this.#characters = characters;
    this.#draw = draw;
  }

  next(): string {
    if (this.#used === this.#drawn.length) {
      this.#drawn = this.#draw((DRAWN * this.#characters * CHARACTER_BITS) / 8);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += this.#characters;
    return this.#drawn.slice(from, this.#used);
  }
}
