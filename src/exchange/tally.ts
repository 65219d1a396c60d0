/** Counts by key. Clients choose the keys, so a key is forgotten at 0: keys of the past must not pile up. */
export class Tally {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, change: number): void {
    const count = this.of(key) + change;
    if (count <= 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
