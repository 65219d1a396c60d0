/** Work that runs for clients, so that a gateway that shuts down, or a backend that is removed, can wait for it. */
import { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import { LinkedList, type ListMember } from '../exchange/linked-list.ts';
import { within } from '../exchange/within.ts';

interface AbortableRequest {
  abort(failure: Failure): void;
}

/** One request at one backend. */
interface RequestAt extends ListMember<RequestAt> {
  readonly request: AbortableRequest;
}

interface InFlightAt {
  readonly requests: LinkedList<RequestAt>;
  whenGone: (() => void) | undefined;
}

/** The requests in flight at each backend and service, so that one that is taken out of service can finish them. */
export class BackendInFlight {
  readonly #at = new Map<string, InFlightAt>();

  /** Call the returned function when the request is over. */
  enter(backend: string, request: AbortableRequest): () => void {
    let at = this.#at.get(backend);
    if (at === undefined) {
      at = { requests: new LinkedList(), whenGone: undefined };
      this.#at.set(backend, at);
    }
    const entered = at;
    const member: RequestAt = { request, previous: undefined, next: undefined, list: undefined };
    entered.requests.add(member);
    return () => {
      entered.requests.remove(member);
      if (entered.requests.first === undefined) entered.whenGone?.();
    };
  }

  /**
   * Resolves when all requests that are at the backend now have ended. Those that have not after `withinMs` fail: the
   * backend is gone. A request that enters later belongs to a new backend of the same name.
   */
  async vacate(backend: string, withinMs: number, clock: Clock): Promise<void> {
    const at = this.#at.get(backend);
    this.#at.delete(backend);
    if (at === undefined || at.requests.first === undefined) return;
    const gone = new Promise<void>((resolve) => {
      at.whenGone = resolve;
    });
    await within(clock, withinMs, gone, () => undefined);
    const failure = new Failure('backend_unavailable', { message: 'The backend was removed from the config' });
    for (const { request } of at.requests.members()) request.abort(failure);
  }
}

/** Counts all the work that runs for clients. */
export class InFlight {
  /** True while shutting down: no new requests are taken. */
  draining = false;
  #running = 0;
  #whenDone: (() => void) | undefined;

  begin(): void {
    this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#whenDone?.();
  }

  /** The same, for callers that keep it. */
  readonly ended = (): void => this.end();

  get running(): number {
    return this.#running;
  }

  /** Resolves when no work runs any more, or after `withinMs`. */
  finished(withinMs: number, clock: Clock): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    const done = new Promise<void>((resolve) => {
      this.#whenDone = resolve;
    });
    return within(clock, withinMs, done, () => undefined);
  }
}
