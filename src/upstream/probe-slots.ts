/**
 * Bounds how many backends are probed for the first time at once: many that start together on a small machine would all be
 * too slow, and be misjudged. A probe holds its slot for a bounded time, so that backends which hang delay the others little.
 */
import type { TimerClock } from './deadlines.ts';

/** Most backends have answered by then. With 51 that hang, the last one is asked after some 7 seconds. */
const HOLD_MS = 1_000;

export class ProbeSlots {
  readonly #clock: Pick<TimerClock, 'after'>;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(most: number, clock: Pick<TimerClock, 'after'>) {
    this.#free = most;
    this.#clock = clock;
  }

  /** Runs it when there is a slot, in the order of arrival. */
  async run<T>(probe: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      stop();
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
    const stop = this.#clock.after(HOLD_MS, release);
    try {
      return await probe();
    } finally {
      release();
    }
  }
}
