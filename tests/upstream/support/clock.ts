import type { Clock } from '../../../src/exchange/clock.ts';

export const realClock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
  soon: (action) => setImmediate(action),
};

interface Timer {
  readonly ms: number;
  readonly at: number;
  readonly action: () => void;
}

/** Time that only the test moves. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<Timer>();
  #watchers: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { ms, at: this.#now + ms, action };
    this.#timers.add(timer);
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher();
    return () => this.#timers.delete(timer);
  }

  soon(action: () => void): void {
    setImmediate(action);
  }

  get pending(): number[] {
    return [...this.#timers].map((timer) => timer.ms);
  }

  /** Resolves when a timer with exactly this delay is set. */
  async waiting(ms: number): Promise<void> {
    while (!this.pending.includes(ms)) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.action();
    }
    this.#now = until;
  }
}
