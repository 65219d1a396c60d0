/**
 * A map of bounded size. What was not used since it was last looked at makes room first. Using an entry moves nothing:
 * a map that is changed with every use defeats the garbage collector (docs/decisions/0006-garbage.md).
 */
export class BoundedMap<T> {
  readonly #most: number;
  readonly #mayEvict: (value: T) => boolean;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(most: number, mayEvict: (value: T) => boolean = () => true) {
    this.#most = most;
    this.#mayEvict = mayEvict;
  }

  get(key: string): T | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    kept.isUsed = true;
    return kept.value;
  }

  set(key: string, value: T): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) this.#kept.set(key, { value, isUsed: true });
    else {
      kept.value = value;
      kept.isUsed = true;
    }
    if (this.#kept.size > this.#most) this.#makeRoom();
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }

  get size(): number {
    return this.#kept.size;
  }

  *entries(): Iterable<[string, T]> {
    for (const [key, { value }] of this.#kept) yield [key, value];
  }

  find(test: (value: T) => boolean): T | undefined {
    for (const { value } of this.#kept.values()) if (test(value)) return value;
    return undefined;
  }

  /** An entry that was used gets a second chance behind all others, where this loop meets it again. */
  #makeRoom(): void {
    for (const [key, kept] of this.#kept) {
      if (this.#kept.size <= this.#most) return;
      if (!this.#mayEvict(kept.value)) continue;
      this.#kept.delete(key);
      if (kept.isUsed) this.#kept.set(key, kept);
      kept.isUsed = false;
    }
  }
}

interface Kept<T> {
  value: T;
  /** Since it came, or was last passed over. */
  isUsed: boolean;
}
