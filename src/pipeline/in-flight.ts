/** Counts the work that runs for clients, so that a gateway that shuts down can wait for it. */
import type { Clock } from '../exchange/clock.ts';

export class InFlight {
  #running = 0;
  #whenDone: (() => void) | undefined;

  begin(): void {
    this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#whenDone?.();
  }

  get running(): number {
    return this.#running;
  }

  /** Resolves when no work runs any more, or after `withinMs`. */
  finished(withinMs: number, clock: Clock): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const stopWaiting = clock.after(withinMs, resolve);
      this.#whenDone = () => {
        stopWaiting();
        resolve();
      };
    });
  }
}
