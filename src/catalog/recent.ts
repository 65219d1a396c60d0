/** A map of bounded size. The least recently used entry is evicted first. */
export class BoundedMap<T> {
  readonly #most: number;
  /** In order of use. */
  readonly #kept = new Map<string, T>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): T | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found;
  }

  set(key: string, value: T): void {
    this.#kept.delete(key);
    this.#kept.set(key, value);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#most) break;
      this.#kept.delete(oldest);
    }
  }

  find(test: (value: T) => boolean): T | undefined {
    for (const value of this.#kept.values()) if (test(value)) return value;
    return undefined;
  }
}
