/** Values of a known shape as JSON in Records. A value that cannot be parsed any more counts as absent. */
import type * as z from 'zod';
import type { Records } from '../store/ports.ts';

export interface Stored<Value> {
  readonly value: Value;
  /** The stored text, for `replace`. */
  readonly text: string;
}

export class TypedRecords<Value> {
  readonly #records: Records;
  readonly #collection: string;
  readonly #shape: z.ZodType<Value>;

  constructor(records: Records, collection: string, shape: z.ZodType<Value>) {
    this.#records = records;
    this.#collection = collection;
    this.#shape = shape;
  }

  async get(key: string): Promise<Stored<Value> | undefined> {
    return this.#read(await this.#records.get(this.#collection, key));
  }

  async take(key: string): Promise<Value | undefined> {
    return this.#read(await this.#records.take(this.#collection, key))?.value;
  }

  put(key: string, value: Value, endsAt?: number): Promise<void> {
    return this.#records.put(this.#collection, key, JSON.stringify(value), endsAt);
  }

  /** Replaces the value only if it is unchanged since `seen`. */
  replace(key: string, seen: Stored<Value> | undefined, value: Value | undefined, endsAt?: number): Promise<boolean> {
    const text = value === undefined ? undefined : JSON.stringify(value);
    return this.#records.replace(this.#collection, key, seen?.text, text, endsAt);
  }

  delete(key: string): Promise<void> {
    return this.#records.delete(this.#collection, key);
  }

  #read(text: string | undefined): Stored<Value> | undefined {
    if (text === undefined) return undefined;
    try {
      const { data } = this.#shape.safeParse(JSON.parse(text));
      return data === undefined ? undefined : { value: data, text };
    } catch {
      return undefined;
    }
  }
}
