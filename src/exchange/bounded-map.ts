/** A map of bounded size. The least recently used entry that may be evicted is evicted first. */
export class BoundedMap<T> {
  readonly #most: number;
  readonly #mayEvict: (value: T) => boolean;
  /** In order of use. */
  readonly #kept = new Map<string, T>();
  /** The key that was used last: it need not be moved to the end again. */
  #latest: string | undefined;

  constructor(most: number, mayEvict: (value: T) => boolean = () => true) {
    this.#most = most;
    this.#mayEvict = mayEvict;
  }

  get(key: string): T | undefined {
    const found = this.#kept.get(key);
    if (found === undefined || key === this.#latest) return found;
    this.#latest = key;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found;
  }

  set(key: string, value: T): void {
    this.#latest = key;
    this.#kept.delete(key);
    this.#kept.set(key, value);
    for (const [oldest, held] of this.#kept) {
      if (this.#kept.size <= this.#most) break;
      if (this.#mayEvict(held)) this.#kept.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }

  get size(): number {
    return this.#kept.size;
  }

  /** The least recently used first. */
  entries(): Iterable<[string, T]> {
    return this.#kept;
  }

  find(test: (value: T) => boolean): T | undefined {
    for (const value of this.#kept.values()) if (test(value)) return value;
    return undefined;
  }
}
