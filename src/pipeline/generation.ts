/**
 * Everything that one config brings into force, as one immutable value. A reload builds the next generation completely
 * (app/build-generation.ts), replaces the reference here, and retires the old one. A request takes one generation when
 * it arrives, and that generation decides everything about it. What outlives a request reads the current generation
 * each time.
 */
import type { Config } from '../config/config.ts';
import type { Ingress } from '../downstream/ingress.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { RpcService } from '../jsonrpc/ports.ts';
import type { PinGuard } from '../pins/ports.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Backends } from '../upstream/backends.ts';
import type { ConsentWaiter } from './interceptors/consent.ts';

export interface Generation extends Ingress {
  readonly config: Config;
  /** By path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly backends: Backends;
  /** JSON-RPC services that are not MCP servers. */
  readonly services: ReadonlyMap<string, RpcService>;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Absent where nothing is pinned. */
  readonly pins: PinGuard | undefined;
  /** Absent where no backend needs a person's consent. */
  readonly consenting: ConsentWaiter | undefined;
}

export class CurrentGeneration<G extends Generation = Generation> {
  /** Set by `swap` alone, and first at start. A field, because every request reads it several times. */
  now!: G;

  swap(next: G): void {
    this.now = next;
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

  get extensions(): Endpoint['extensions'] {
    return this.#current().extensions;
  }

  get overrides(): Endpoint['overrides'] {
    return this.#current().overrides;
  }

  get budget(): Endpoint['budget'] {
    return this.#current().budget;
  }

  get traces(): Endpoint['traces'] {
    return this.#current().traces;
  }

  #current(): Endpoint {
    this.#last = this.#currentGeneration.now.endpoints.get(this.path) ?? this.#last;
    return this.#last;
  }
}
