/**
 * When to resume a cut stream (2025-11-25, basic/transports, "Resumability and Redelivery"). Attempts are counted, and
 * only progress resets the count: a backend that accepts each time and sends nothing must not hold a request forever.
 * The standalone stream continues after that, at the longest pause.
 */
import type { Limits } from '../../config/limits.ts';

/** A `retry: 0` must not cause a tight loop. */
const RETRY_MIN_MS = 50;
/** A request gives up where `retry` is longer than this. The standalone stream waits no longer than this. */
const RETRY_MAX_MS = 300_000;
/** Without a `retry`: a second, then twice as long each time. */
const BACKOFF_MIN_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;

export class Reconnects {
  readonly #limits: Pick<Limits, 'reconnects'>;
  readonly #random: () => number;
  #attempts = 0;

  constructor(limits: Pick<Limits, 'reconnects'>, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  /** Attempts since the last progress. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Whether all attempts that a request gets have failed. */
  get isExhausted(): boolean {
    return this.#attempts >= this.#limits.reconnects;
  }

  progress(): void {
    this.#attempts = 0;
  }

  /**
   * How long to wait before the next attempt; undefined: give up. A `retry` MUST be respected, so we never reconnect
   * sooner.
   */
  next(retryMs: number | undefined): number | undefined {
    if (this.isExhausted) return undefined;
    if (retryMs !== undefined && retryMs > RETRY_MAX_MS) return undefined;
    const attempt = this.#attempts++;
    return retryMs === undefined ? this.#backoff(attempt) : Math.max(retryMs, RETRY_MIN_MS);
  }

  /**
   * The same for a stream that is never given up. Where the backend `served` the last connection and ended it, its
   * `retry` sets the pace, but at least a second after several attempts without progress. After it `flooded`, the pause
   * is at least our own growing one.
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
    // Jitter, because many sessions lose a restarted backend at the same moment.
    return most / 2 + (this.#random() * most) / 2;
  }
}
