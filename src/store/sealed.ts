/**
 * Records that are sealed at rest, each for its collection and its key: moved to another place it does not open. Keys stay as
 * they are, since they have to be found and listed; whoever keeps a secret under itself hashes it first.
 */
import { StoreError } from './errors.ts';
import { isText, recordLimits } from './limits.ts';
import type { Records, Seal } from './ports.ts';

/** For people who run the gateway. */
export type StoreWarn = (text: string, facts: Readonly<Record<string, unknown>>) => void;

/** Nonce, tag and base64 take their share of what a record may have. */
export const sealedValueBytes = Math.floor((recordLimits.valueBytes * 3) / 4) - 28;

/** Of several that change one record at once, each round has a winner; who has lost so often is told to come again. */
const ROUNDS = 100;

/** What does not open counts as absent, and is told of once a collection: with a wrong key nothing opens. */
export function sealedRecords(records: Records, seal: Seal, warn: StoreWarn): Records {
  return new SealedRecords(records, seal, warn);
}

class SealedRecords implements Records {
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

  /** The same text is sealed differently each time, so what is compared below is the sealed text that was opened here. */
  async replace(
    collection: string,
    key: string,
    seen: string | undefined,
    value: string | undefined,
    endsAt?: number,
  ): Promise<boolean> {
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

  /** Those of values that do not open too: only reading each of them would tell. */
  async keys(collection: string, prefix: string, most: number): Promise<readonly string[]> {
    return this.#records.keys(collection, prefix, most);
  }

  async close(): Promise<void> {
    await this.#records.close();
  }

  #close(collection: string, key: string, value: string): string {
    // The cipher would take half of a surrogate pair and give back something else: the text has to be whole before.
    if (!isText(value) || Buffer.byteLength(value) > sealedValueBytes)
      throw new StoreError(
        'too_large',
        `a value of ${collection} has more than ${sealedValueBytes} bytes, or is no text`,
      );
    return this.#seal.seal(value, contextOf(collection, key));
  }

  #open(collection: string, key: string, sealed: string | undefined): string | undefined {
    if (sealed === undefined) return undefined;
    const value = this.#seal.open(sealed, contextOf(collection, key));
    if (value === undefined && !this.#warned.has(collection)) {
      this.#warned.add(collection);
      this.#warn('a record does not open and counts as absent: it was changed, or the key is another one', {
        collection,
      });
    }
    return value;
  }
}

/** A collection has no NUL, so no two places share a context; and none is that of something else that the same key seals. */
function contextOf(collection: string, key: string): string {
  return `record\0${collection}\0${key}`;
}
