/** The exchanges in flight at each backend, so that a backend that is taken out of service can finish them. */
import { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Exchange } from '../exchange/exchange.ts';

interface Guests {
  readonly exchanges: Set<Exchange>;
  whenGone: (() => void) | undefined;
}

export class BackendInFlight {
  readonly #at = new Map<string, Guests>();

  enter(backend: string, exchange: Exchange): void {
    let guests = this.#at.get(backend);
    if (guests === undefined) {
      guests = { exchanges: new Set(), whenGone: undefined };
      this.#at.set(backend, guests);
    }
    const { exchanges } = guests;
    const at = guests;
    exchanges.add(exchange);
    exchange.onOver(() => {
      exchanges.delete(exchange);
      if (exchanges.size === 0) at.whenGone?.();
    });
  }

  /**
   * Resolves when all exchanges that are at the backend now have ended. Those that have not after `withinMs` fail: the
   * backend is gone. An exchange that enters later belongs to a new backend of the same name.
   */
  async vacate(backend: string, withinMs: number, clock: Clock): Promise<void> {
    const guests = this.#at.get(backend);
    this.#at.delete(backend);
    if (guests === undefined || guests.exchanges.size === 0) return;
    await new Promise<void>((resolve) => {
      const stopWaiting = clock.after(withinMs, resolve);
      guests.whenGone = () => {
        stopWaiting();
        resolve();
      };
    });
    const failure = new Failure('backend_unavailable', { message: 'The backend was taken out of service' });
    for (const exchange of [...guests.exchanges]) exchange.abort(failure);
  }
}
