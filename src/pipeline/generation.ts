/**
 * The endpoints and the authorizer of one config, replaced as a whole. A request takes one generation when it arrives,
 * and that generation decides everything about it. What outlives a request reads the current generation each time.
 */
import type { Endpoint } from '../exchange/arrival.ts';
import type { Authorizer } from '../policy/authorizer.ts';

export interface Generation {
  /** The number of the config. */
  readonly number: number;
  readonly authorizer: Authorizer;
  /** By path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

export class CurrentGeneration {
  #now: Generation;

  constructor(first: Generation) {
    this.#now = first;
  }

  get now(): Generation {
    return this.#now;
  }

  renew(next: Generation): void {
    this.#now = next;
  }

  /** For sessions, connections and streams, which outlive a generation. */
  place(endpoint: Endpoint): Endpoint {
    return new LiveEndpoint(this, endpoint);
  }
}

/** An endpoint as the current generation has it. Once it is removed, its last state stays. */
class LiveEndpoint implements Endpoint {
  readonly path: string;
  readonly #currentGeneration: CurrentGeneration;
  #last: Endpoint;

  constructor(currentGeneration: CurrentGeneration, endpoint: Endpoint) {
    this.path = endpoint.path;
    this.#currentGeneration = currentGeneration;
    this.#last = endpoint;
  }

  get backends(): Endpoint['backends'] {
    return this.#current().backends;
  }

  get profile(): Endpoint['profile'] {
    return this.#current().profile;
  }

  get denials(): Endpoint['denials'] {
    return this.#current().denials;
  }

  get sessions(): Endpoint['sessions'] {
    return this.#current().sessions;
  }

  get names(): Endpoint['names'] {
    return this.#current().names;
  }

  #current(): Endpoint {
    this.#last = this.#currentGeneration.now.endpoints.get(this.path) ?? this.#last;
    return this.#last;
  }
}
