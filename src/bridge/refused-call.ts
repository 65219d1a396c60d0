/**
 * A call whose backend asked for something that its modern client did not declare. The request fails, whatever the
 * backend answers. The backend gets a moment to end the call by itself, because sessions of the Python SDK 1.x break
 * where the refusal of the question and the cancellation of the call arrive together.
 */
import type { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Exchange } from '../exchange/exchange.ts';

/** How long the backend may take, before the call is cancelled. */
const REFUSED_MS = 1_000;

export class RefusedCall {
  readonly #exchange: Exchange;
  readonly #failure: Failure;
  readonly #stopTimer: () => void;

  constructor(exchange: Exchange, failure: Failure, clock: Clock) {
    this.#exchange = exchange;
    this.#failure = failure;
    this.#stopTimer = clock.after(REFUSED_MS, () => {
      if (!exchange.settled) exchange.abort(failure);
    });
  }

  /** The backend has ended the call. */
  ended(): void {
    this.#stopTimer();
    this.#exchange.fail(this.#failure);
  }
}
