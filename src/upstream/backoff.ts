/**
 * How long to leave a backend alone that failed: twice as long each time, within bounds, with jitter. One for each backend:
 * whatever tries it, a start of its process or a look at whether it is back, keeps to the same pauses.
 */
export interface PaceLimits {
  readonly restartMinMs: number;
  readonly restartMaxMs: number;
}

/** A process that ended sooner, and answered nothing, did not work. */
export const STEADY_MS = 10_000;
/** Beyond so many doublings every bound is reached, and the number stays a number. */
const DOUBLINGS = 30;

export class Backoff {
  readonly #limits: PaceLimits;
  readonly #random: () => number;
  #failures = 0;
  #until = 0;

  /** `random`: from 0 up to 1. */
  constructor(limits: PaceLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  /** The shortest pause. */
  get leastMs(): number {
    return this.#limits.restartMinMs;
  }

  failed(now: number): void {
    // Several may notice the same failure; only the first begins a pause.
    if (now < this.#until) return;
    const { restartMinMs, restartMaxMs } = this.#limits;
    const most = Math.min(restartMaxMs, restartMinMs * 2 ** Math.min(this.#failures, DOUBLINGS));
    const least = Math.max(restartMinMs, most / 2);
    this.#failures++;
    this.#until = now + least + this.#random() * (most - least);
  }

  /** It answered: the pause is over, and the next one is short. */
  worked(): void {
    this.#failures = 0;
    this.#until = 0;
  }

  /** Whether the last attempt that is known of failed. */
  get isDoubtful(): boolean {
    return this.#failures > 0;
  }

  /** Time until the next attempt is allowed; 0: now. */
  leftMs(now: number): number {
    return Math.max(0, this.#until - now);
  }
}
