/**
 * Limits how many backends are probed for the first time at once: if many started together on a small machine, all
 * would be too slow, and be misjudged. A probe holds its slot for a limited time, so that hanging backends delay others
 * little.
 */
import type { TimerClock } from './deadlines.ts';

/** Most backends have answered by then. If 51 hang, the last one is probed after some 7 seconds. */
const HOLD_MS = 1_000;

export class ProbeSlots {
  readonly #clock: Pick<TimerClock, 'after'>;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(most: number, clock: Pick<TimerClock, 'after'>) {
    this.#free = most;
    this.#clock = clock;
  }

  /** Runs the probe when a slot is free, in order of arrival. */
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
