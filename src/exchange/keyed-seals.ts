/**
 * Values that are sealed with one of several keys, so that keys can be replaced:
 *
 *   1     format
 *   4     characters: which key
 *   rest  sealed
 */
import type { KeyedSeal } from '../store/ports.ts';

const FORMAT = '1';
const KEY_ID_CHARACTERS = 4;

export class KeyedSeals {
  readonly #current: KeyedSeal | undefined;
  readonly #all: readonly KeyedSeal[];
  readonly #mostBytes: number;

  /** `all`: the current one first, then those whose values are still accepted. `mostBytes`: of a plain value. */
  constructor(all: readonly KeyedSeal[], mostBytes: number) {
    this.#current = all[0];
    this.#all = all;
    this.#mostBytes = mostBytes;
  }

  /** Undefined without a key, or where the value is too long. */
  seal(plain: string, context: string): string | undefined {
    if (this.#current === undefined || Buffer.byteLength(plain) > this.#mostBytes) return undefined;
    return `${FORMAT}${keyIdOf(this.#current)}${this.#current.seal(plain, context)}`;
  }

  /** Undefined for everything that was not sealed here, with this context. */
  open(sealed: string, context: string): string | undefined {
    if (!sealed.startsWith(FORMAT) || sealed.length > 2 * this.#mostBytes) return undefined;
    const keyId = sealed.slice(FORMAT.length, FORMAT.length + KEY_ID_CHARACTERS);
    const key = this.#all.find((candidate) => keyIdOf(candidate) === keyId);
    return key?.open(sealed.slice(FORMAT.length + KEY_ID_CHARACTERS), context);
  }
}

function keyIdOf({ keyId }: KeyedSeal): string {
  return keyId.slice(0, KEY_ID_CHARACTERS);
}
