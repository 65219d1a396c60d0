/**
 * What is in force: the endpoints and the rules of one config, replaced as a whole. A request takes one generation when it
 * comes in, and everything about it is decided by that one. What stays longer than a request asks again each time.
 */
import type { Endpoint } from '../exchange/arrival.ts';
import type { Authorizer } from '../policy/authorizer.ts';

export interface Generation {
  /** Of the config. */
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

  /** For sessions, lines and streams, which outlive a generation. */
  place(endpoint: Endpoint): Endpoint {
    return new LiveEndpoint(this, endpoint);
  }
}

/** An endpoint as it is at the moment; one that is gone, as it was last. */
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
