/**
 * When to take up a cut stream again (2025-11-25, basic/transports, "Resumability and Redelivery"). Attempts are counted, and
 * the count starts over only after progress: a backend that accepts each time and says nothing must not hold a request for
 * ever. The standalone stream goes on trying after that, at the longest pause.
 */
export interface ReconnectLimits {
  /** Attempts in a row without progress. */
  readonly reconnects: number;
}

/** A backend that says `retry: 0` is not asked in a tight loop. */
const RETRY_MIN_MS = 50;
/** One that says to come back later than this is not waited for by a request. The standalone stream waits no longer than this. */
const RETRY_MAX_MS = 300_000;
/** Where the backend said nothing: a second, then twice as long each time. */
const BACKOFF_MIN_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;

export class Reconnects {
  readonly #limits: ReconnectLimits;
  readonly #random: () => number;
  #attempts = 0;

  constructor(limits: ReconnectLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  /** Attempts since the last progress. */
  get attempts(): number {
    return this.#attempts;
  }

  /** As many attempts without progress as a request is given. */
  get isExhausted(): boolean {
    return this.#attempts >= this.#limits.reconnects;
  }

  progress(): void {
    this.#attempts = 0;
  }

  /** How long to wait before the next attempt; undefined: give up. A `retry` MUST be respected, so we never come sooner. */
  next(retryMs: number | undefined): number | undefined {
    if (this.isExhausted) return undefined;
    if (retryMs !== undefined && retryMs > RETRY_MAX_MS) return undefined;
    const attempt = this.#attempts++;
    return retryMs === undefined ? this.#backoff(attempt) : Math.max(retryMs, RETRY_MIN_MS);
  }

  /**
   * The same for a stream that is never given up. Where the backend `served` the last one, and ended it, its `retry` is
   * its own pace, down to a second once it came to nothing several times. One that was ended because it `flooded` waits at least for our own growing pause.
   */
  always(retryMs: number | undefined, last: 'served' | 'failed' | 'flooded'): number {
    const wasExhausted = this.isExhausted;
    const attempt = this.#attempts++;
    if (retryMs === undefined) return this.#backoff(attempt);
    const told = Math.min(Math.max(retryMs, wasExhausted ? BACKOFF_MIN_MS : RETRY_MIN_MS), RETRY_MAX_MS);
    const isPutOff = last === 'flooded' || (last === 'failed' && wasExhausted);
    return isPutOff ? Math.max(told, this.#backoff(attempt)) : told;
  }

  #backoff(attempt: number): number {
    const most = Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** Math.min(attempt, 10));
    // Many sessions lose a restarted backend at the same moment.
    return most / 2 + (this.#random() * most) / 2;
  }
}
