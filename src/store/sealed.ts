/**
 * Records that are encrypted at rest. Each is bound to its collection and key, so a moved value does not open. Keys
 * stay in plain text, since they have to be found and listed; a caller with a secret key hashes it first.
 */
import type { StoreWarn } from './errors.ts';
import { checkValue, recordLimits } from './limits.ts';
import type { Records, Seal } from './ports.ts';

/** The limit of a record without the overhead of nonce, tag and base64. */
export const sealedValueBytes = Math.floor((recordLimits.valueBytes * 3) / 4) - 28;

/** In each round of concurrent changes, one caller succeeds. A caller that loses this often gives up. */
const ROUNDS = 100;

/** A value that does not open counts as absent. Warns once per collection: with a wrong key no value opens. */
export class SealedRecords implements Records {
  readonly #records: Records;
  readonly #seal: Seal;
  readonly #warn: StoreWarn;
  readonly #warned = new Set<string>();

  constructor(records: Records, seal: Seal, warn: StoreWarn) {
    this.#records = records;
    this.#seal = seal;
    this.#warn = warn;
  }

  async get(collection: string, key: string): Promise<string | undefined> {
    return this.#open(collection, key, await this.#records.get(collection, key));
  }

  async put(collection: string, key: string, value: string, endsAt?: number): Promise<void> {
    await this.#records.put(collection, key, this.#close(collection, key, value), endsAt);
  }

  /** Compares the sealed text that was opened here, since the same text is sealed differently each time. */
  async replace(...[collection, key, seen, value, endsAt]: Parameters<Records['replace']>): Promise<boolean> {
    const sealed = value === undefined ? undefined : this.#close(collection, key, value);
    for (let round = 0; round < ROUNDS; round++) {
      const held = await this.#records.get(collection, key);
      if (this.#open(collection, key, held) !== seen) return false;
      if (await this.#records.replace(collection, key, held, sealed, endsAt)) return true;
    }
    return false;
  }

  async take(collection: string, key: string): Promise<string | undefined> {
    return this.#open(collection, key, await this.#records.take(collection, key));
  }

  async delete(collection: string, key: string): Promise<void> {
    await this.#records.delete(collection, key);
  }

  /** Includes keys whose values do not open: only reading each value would tell. */
  async keys(collection: string, prefix: string, most: number): Promise<readonly string[]> {
    return this.#records.keys(collection, prefix, most);
  }

  async close(): Promise<void> {
    await this.#records.close();
  }

  #close(collection: string, key: string, value: string): string {
    // Check before sealing: the cipher would silently change a lone surrogate.
    checkValue(collection, value, sealedValueBytes);
    return this.#seal.seal(value, contextOf(collection, key));
  }

  #open(collection: string, key: string, sealed: string | undefined): string | undefined {
    if (sealed === undefined) return undefined;
    const value = this.#seal.open(sealed, contextOf(collection, key));
    if (value === undefined && !this.#warned.has(collection)) {
      this.#warned.add(collection);
      this.#warn('a record cannot be decrypted and is treated as absent: it was modified, or sealed with another key', {
        collection,
      });
    }
    return value;
  }
}

/**
 * A collection's name has no NUL, so no two records share a context. The prefix keeps them apart from other values that
 * are sealed with the same key.
 */
function contextOf(collection: string, key: string): string {
  return `record\0${collection}\0${key}`;
}
