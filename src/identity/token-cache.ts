/**
 * Cache of verification results by the hash of the token: tokens themselves are not stored. Bounded in time and number.
 */

interface CachedToken<Value> {
  readonly value: Value;
  readonly until: number;
}

export class TokenCache<Value> {
  readonly #most: number;
  /** In order of insertion; the oldest is evicted first. */
  readonly #kept = new Map<string, CachedToken<Value>>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#kept.size;
  }

  get(id: string, now: number): Value | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined) return undefined;
    if (now < kept.until) return kept.value;
    this.#kept.delete(id);
    return undefined;
  }

  set(id: string, value: Value, until: number): void {
    this.#kept.delete(id);
    this.#kept.set(id, { value, until });
    if (this.#kept.size <= this.#most) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      break;
    }
  }
}
