/** How long to leave a command alone that failed: twice as long each time, within bounds, with jitter. */
export interface BackoffLimits {
  readonly restartMinMs: number;
  readonly restartMaxMs: number;
}

/** Beyond so many doublings every bound is reached, and the number stays a number. */
const DOUBLINGS = 30;

export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #failures = 0;
  #until = 0;

  constructor(limits: BackoffLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  failed(now: number): void {
    const { restartMinMs, restartMaxMs } = this.#limits;
    const most = Math.min(restartMaxMs, restartMinMs * 2 ** Math.min(this.#failures, DOUBLINGS));
    const least = Math.max(restartMinMs, most / 2);
    this.#failures++;
    this.#until = now + least + this.#random() * (most - least);
  }

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
