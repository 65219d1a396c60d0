/**
 * Backoff for a failed backend: the pause doubles each time, within bounds and with jitter. Each backend has one
 * instance. Process starts and probes share it, so both keep to the same pauses.
 */
import type { Limits } from '../config/limits.ts';

type BackoffLimits = Pick<Limits, 'restartMinMs' | 'restartMaxMs'>;

/** A process that ends sooner than this, without having answered anything, counts as a failed start. */
export const STEADY_MS = 10_000;
/** Every configured maximum is reached within this many doublings. The cap keeps the number finite. */
const DOUBLINGS = 30;

export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #failures = 0;
  #until = 0;

  /** `random`: from 0 up to 1. */
  constructor(limits: BackoffLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  /** The shortest pause. */
  get leastMs(): number {
    return this.#limits.restartMinMs;
  }

  failed(now: number): void {
    // Several callers may report the same failure; only the first report starts a pause.
    if (now < this.#until) return;
    const { restartMinMs, restartMaxMs } = this.#limits;
    const most = Math.min(restartMaxMs, restartMinMs * 2 ** Math.min(this.#failures, DOUBLINGS));
    const least = Math.max(restartMinMs, most / 2);
    this.#failures++;
    this.#until = now + least + this.#random() * (most - least);
  }

  /** The backend answered: ends the pause and resets its length. */
  worked(): void {
    this.#failures = 0;
    this.#until = 0;
  }

  /** Whether the last known attempt failed. */
  get isDoubtful(): boolean {
    return this.#failures > 0;
  }

  /** Time until the next attempt is allowed; 0: now. */
  leftMs(now: number): number {
    return Math.max(0, this.#until - now);
  }
}
