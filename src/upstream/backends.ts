/** The backends of one generation, by name. */

import type { Backend, UpstreamSession } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';

export class Backends implements Iterable<Backend> {
  readonly #byName: ReadonlyMap<string, Backend>;

  constructor(backends: readonly Backend[]) {
    this.#byName = new Map(backends.map((backend) => [backend.name, backend]));
  }

  /** The backend that all principals share. */
  get(name: string): Backend | undefined {
    return this.#byName.get(name);
  }

  /**
   * The backend for one principal. Where principals present credentials of their own, each has a backend instance of
   * their own.
   */
  of(name: string, principal: Principal): Backend | undefined {
    const backend = this.#byName.get(name);
    return backend?.ownOf === undefined ? backend : backend.ownOf(principal);
  }

  /**
   * The upstream session of a backend that is known to be modern. Synchronous, because most modern calls take this
   * path.
   */
  stateless(name: string, principal: Principal): UpstreamSession | undefined {
    return this.of(name, principal)?.modern;
  }

  [Symbol.iterator](): Iterator<Backend> {
    return this.#byName.values();
  }
}

/** For services that outlive a generation: they look a backend up in the generation that is current at the moment. */
export interface CurrentBackends {
  readonly now: { readonly backends: Backends };
}
