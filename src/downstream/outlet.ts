/** Outlets of POSTs that are not a single request. */
import type { Outlet, Settlement, Urgency } from '../exchange/outlet.ts';

/**
 * For requests that were refused when their outlets were opened: `onAbandoned` fires at once, so no work is done for
 * them.
 */
export const refusedOutlet: Outlet = {
  carries: false,
  send: () => undefined,
  settle: () => undefined,
  pause: () => undefined,
  onAbandoned: (listener) => listener(),
};

/** The outlet of one request of a batch. The responses of all are sent together. */
export class BatchOutlet implements Outlet {
  readonly #post: Outlet;
  #isSettled = false;

  constructor(post: Outlet) {
    this.#post = post;
  }

  get carries(): boolean {
    return this.#post.carries;
  }

  send(message: Uint8Array, urgency: Urgency, key?: string): void {
    if (!this.#isSettled) this.#post.send(message, urgency, key);
  }

  settle(settlement: Settlement): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#post.settle(settlement);
  }

  pause(retryMs: number | undefined): void {
    if (!this.#isSettled) this.#post.pause(retryMs);
  }

  onAbandoned(): void {
    // Only 2025-03-26 has batches, and its clients cancel with a notification.
  }
}
