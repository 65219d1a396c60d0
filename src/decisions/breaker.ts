/**
 * A circuit breaker. After several faults in a row the questions are not sent any more: a decision point that is down
 * must not make every request wait for its timeout. After a pause one question is sent as a trial.
 */
import type { Clock } from '../exchange/clock.ts';

/** One lost connection is no reason to stop asking. */
const FAULTS = 5;
/** Long enough for a restart of the service, and short enough to go on soon after it. */
const PAUSE_MS = 5_000;

/** A question that may be sent. */
export interface Attempt {
  readonly isTrial: boolean;
}

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

  /** Undefined where the question may not be sent. `ended` must follow, with what is returned. */
  begin(): Attempt | undefined {
    if (!this.isOpen) return { isTrial: false };
    if (this.#isTrying || this.#clock.now() < this.#openUntil) return undefined;
    this.#isTrying = true;
    return { isTrial: true };
  }

  /** `unknown`: the question says nothing about the decision point. */
  ended({ isTrial }: Attempt, outcome: 'answered' | 'failed' | 'unknown'): void {
    // A question from before the circuit opened may end during the trial, which is still under way then.
    if (isTrial) this.#isTrying = false;
    if (outcome === 'answered') this.#faults = 0;
    if (outcome !== 'failed') return;
    this.#faults += 1;
    if (this.isOpen) this.#openUntil = this.#clock.now() + PAUSE_MS;
  }
}
