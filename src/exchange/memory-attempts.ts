/** Counts attempts in this process. Each kind has room of its own: many names of one kind evict none of another. */
import type { AttemptCounter, AttemptCounts } from '../store/counts.ts';
import { Attempts } from './attempts.ts';

export class MemoryAttempts implements AttemptCounts {
  readonly #now: () => number;
  readonly #kinds = new Map<string, Attempts>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async attempt(counters: readonly AttemptCounter[]): Promise<number> {
    const wait = Math.max(0, ...counters.map((counter) => this.#of(counter).waitFor(counter.name)));
    if (wait === 0) for (const counter of counters) this.#of(counter).count(counter.name);
    return wait;
  }

  async takeBack(counters: readonly AttemptCounter[], forgotten: readonly AttemptCounter[] = []): Promise<void> {
    for (const counter of counters) this.#of(counter).giveBack(counter.name);
    for (const counter of forgotten) this.#of(counter).forget(counter.name);
  }

  #of({ kind, most, withinMs, names }: AttemptCounter): Attempts {
    const id = `${kind} ${most} ${withinMs}`;
    const known = this.#kinds.get(id) ?? new Attempts({ most, withinMs, names }, this.#now);
    this.#kinds.set(id, known);
    return known;
  }
}
