/** What a request is for, as its backend names it. */
import type { Endpoint } from '../exchange/arrival.ts';
import type { Request, ResultResponse } from '../wire/message.ts';
import type { Reader } from './list-reader.ts';
import type { ResourceOwners } from './owner.ts';
import { withClientUris } from './requests.ts';
import { distinguished } from './uris.ts';

export interface ResolvedTarget {
  readonly backend: string;
  /** The backend's own name for the target, if the endpoint has several backends. */
  readonly name?: string;
  /** The request with the backend's own name. */
  readonly message: Request;
  /** Every name by which clients can call the tool here, the encoded one first: a rule for one applies to all. */
  readonly names?: readonly string[] | undefined;
  /** Rewrites a result to the client's names. Undefined if there is nothing to rename. */
  renamed?(result: ResultResponse): ResultResponse;
}

/** A target whose results may have URIs in them, at an endpoint with several backends. */
export class LinkingTarget implements ResolvedTarget {
  readonly backend: string;
  readonly name: string;
  readonly message: Request;
  readonly names: readonly string[] | undefined;
  readonly #resources: ResourceOwners;
  readonly #endpoint: Endpoint;
  readonly #reader: Reader | undefined;

  /** Without a `reader` all URIs get their distinguished form; with one, only those that are ambiguous for it. */
  constructor(
    backend: string,
    name: string,
    message: Request,
    names: readonly string[] | undefined,
    resources: ResourceOwners,
    endpoint: Endpoint,
    reader: Reader | undefined,
  ) {
    this.backend = backend;
    this.name = name;
    this.message = message;
    this.names = names;
    this.#resources = resources;
    this.#endpoint = endpoint;
    this.#reader = reader;
  }

  renamed(result: ResultResponse): ResultResponse {
    return withClientUris(result, () => this.#clientUris());
  }

  /** Links are renamed only where a URI could belong to a different backend. */
  #clientUris(): ((uri: string) => string | undefined) | undefined {
    const reader = this.#reader;
    if (reader === undefined) return (uri) => distinguished(this.backend, uri);
    if (!this.#resources.areShared(this.#endpoint)) return undefined;
    return (uri) => {
      const isPlain = this.#resources.isPlain(this.#endpoint, this.backend, uri, reader);
      return isPlain ? undefined : distinguished(this.backend, uri);
    };
  }
}
