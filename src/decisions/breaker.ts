/**
 * A circuit breaker. After several faults in a row the questions are not sent any more: a decision point that is down
 * must not make every request wait for its timeout. After a pause one question is sent as a trial.
 */
import type { Clock } from '../exchange/clock.ts';

/** One lost connection is no reason to stop asking. */
const FAULTS = 5;
/** Long enough for a restart, short enough that nobody reaches for the config. */
const PAUSE_MS = 5_000;

export class Breaker {
  readonly #clock: Pick<Clock, 'now'>;
  #faults = 0;
  #openUntil = 0;
  #isTrying = false;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#faults >= FAULTS;
  }

  /** Whether a question may be sent. `ended` must follow. */
  begin(): boolean {
    if (!this.isOpen) return true;
    if (this.#isTrying || this.#clock.now() < this.#openUntil) return false;
    this.#isTrying = true;
    return true;
  }

  /** `unknown`: the question was not sent after all. */
  ended(outcome: 'answered' | 'failed' | 'unknown'): void {
    this.#isTrying = false;
    if (outcome === 'answered') this.#faults = 0;
    if (outcome !== 'failed') return;
    this.#faults += 1;
    if (this.isOpen) this.#openUntil = this.#clock.now() + PAUSE_MS;
  }
}
