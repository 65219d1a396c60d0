/**
 * Counts events that were handled without a failure: late responses, noise, dropped log messages. Nothing is lost
 * silently.
 */
export class Counters {
  readonly #counts = new Map<string, number>();

  count(name: string, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  snapshot(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
