/** Wrong keys are counted by link. A right one does not help any more when the count is full: ask for a new link. */
import { pageLimits } from './limits.ts';

interface Count {
  wrong: number;
  readonly endsAt: number;
}

/** Of one replica: several let in several times as many tries, which changes nothing for secrets of this length. */
export class Tries {
  readonly #now: () => number;
  readonly #counts = new Map<string, Count>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How long there is to wait; zero where one may try. */
  waitMs(id: string): number {
    const count = this.#current(id);
    return count !== undefined && count.wrong >= pageLimits.wrongKeys ? count.endsAt - this.#now() : 0;
  }

  missed(id: string): void {
    const count = this.#current(id) ?? { wrong: 0, endsAt: this.#now() + pageLimits.wrongKeysMs };
    count.wrong += 1;
    this.#counts.set(id, count);
    if (this.#counts.size <= pageLimits.triedLinks) return;
    const [oldest] = this.#counts.keys();
    if (oldest !== undefined) this.#counts.delete(oldest);
  }

  /** A clock that was set back must not make anybody wait until it has caught up. */
  #current(id: string): Count | undefined {
    const count = this.#counts.get(id);
    const left = count === undefined ? 0 : count.endsAt - this.#now();
    if (left > 0 && left <= pageLimits.wrongKeysMs) return count;
    this.#counts.delete(id);
    return undefined;
  }
}
