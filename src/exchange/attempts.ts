/**
 * Counts recent attempts by name, and how long to wait for the next. Bounded: the least recently active name is
 * dropped.
 */

export interface AttemptLimits {
  readonly most: number;
  readonly withinMs: number;
  /** Names that are counted at the same time. */
  readonly names: number;
}

interface Counted {
  count: number;
  readonly since: number;
}

export class Attempts {
  readonly #limits: AttemptLimits;
  readonly #now: () => number;
  readonly #counted = new Map<string, Counted>();

  constructor(limits: AttemptLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Milliseconds until the next attempt is allowed; 0 if it is allowed now. */
  waitFor(name: string): number {
    const held = this.#current(name);
    if (held === undefined || held.count < this.#limits.most) return 0;
    return held.since + this.#limits.withinMs - this.#now();
  }

  count(name: string): void {
    const held = this.#current(name) ?? { count: 0, since: this.#now() };
    held.count += 1;
    // Reinsert at the end: the first in the map is the least recently active.
    this.#counted.delete(name);
    this.#counted.set(name, held);
    if (this.#counted.size <= this.#limits.names) return;
    const [oldest = ''] = this.#counted.keys();
    this.#counted.delete(oldest);
  }

  forget(name: string): void {
    this.#counted.delete(name);
  }

  /** Takes back one counted attempt. */
  giveBack(name: string): void {
    const held = this.#current(name);
    if (held !== undefined) held.count -= 1;
  }

  get size(): number {
    return this.#counted.size;
  }

  /** If the clock was set back, the count starts again, so that nobody has to wait until it has caught up. */
  #current(name: string): Counted | undefined {
    const held = this.#counted.get(name);
    if (held === undefined) return undefined;
    const passed = this.#now() - held.since;
    if (passed >= 0 && passed < this.#limits.withinMs) return held;
    this.#counted.delete(name);
    return undefined;
  }
}
