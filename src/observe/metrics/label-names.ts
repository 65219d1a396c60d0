/**
 * The names of tools or prompts that backends have listed: only these become label values. A name is looked up by its
 * bytes in a message, so that nothing is decoded or allocated for it.
 */

/** Each name costs a series for every kind of ending that it had. */
export const MOST_NAMES = 500;
/** No tool has a longer name: the specification advises 128. */
const NAME_BYTES = 128;
/** A power of two, with room enough that probing stays short. */
const SLOTS = 2_048;

export class LabelNames {
  readonly names: string[] = [];
  /** How many names were left out because there were too many, or because they are too long. */
  leftOut = 0;
  readonly #bytes: Uint8Array[] = [];
  /** Index of the name plus one; 0: free. */
  readonly #slots = new Int16Array(SLOTS);
  readonly #encoder = new TextEncoder();

  add(name: string): void {
    const bytes = this.#encoder.encode(name);
    if (this.find(bytes, 0, bytes.byteLength) !== -1) return;
    if (this.names.length >= MOST_NAMES || bytes.byteLength > NAME_BYTES) {
      this.leftOut += 1;
      return;
    }
    let slot = hash(bytes, 0, bytes.byteLength) & (SLOTS - 1);
    while (this.#slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
    this.#bytes.push(bytes);
    this.#slots[slot] = this.names.push(name);
  }

  /** The index of the name in `bytes` between `start` and `end`, or -1. A name with escapes is not found. */
  find(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > NAME_BYTES) return -1;
    let slot = hash(bytes, start, end) & (SLOTS - 1);
    for (let entry = this.#slots[slot] as number; entry !== 0; entry = this.#slots[slot] as number) {
      if (isSame(this.#bytes[entry - 1] as Uint8Array, bytes, start, end)) return entry - 1;
      slot = (slot + 1) & (SLOTS - 1);
    }
    return -1;
  }
}

/** FNV-1a. Only names that backends list are stored, so a client cannot make them collide. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5;
  for (let at = start; at < end; at++) value = Math.imul(value ^ (bytes[at] as number), 0x01000193);
  return value ^ (value >>> 15);
}

function isSame(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.byteLength !== end - start) return false;
  for (let at = 0; at < name.byteLength; at++) if (name[at] !== bytes[start + at]) return false;
  return true;
}
