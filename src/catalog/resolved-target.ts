/** What a request is for, as its backend names it. */
import type { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Request, ResultResponse } from '../wire/message.ts';
import { type UriPlace, uriPlacesIn } from './extension-uris.ts';
import type { Reader } from './list-reader.ts';
import type { ResourceOwners } from './owner.ts';
import { type RenameUri, type ResultUris, withClientUris } from './requests.ts';
import { distinguished, isReserved } from './uris.ts';

export interface ResolvedTarget {
  readonly backend: string;
  /** The backend's own name for the target, if the endpoint has several backends, or overrides. */
  readonly name?: string;
  /** The request with the backend's own name. */
  readonly message: Request;
  /** Set where overrides change the arguments: the request with the client's. */
  readonly asked?: Request | undefined;
  /** Why nothing is sent, although the request may be allowed. Told after the rules have decided. */
  readonly refusal?: Failure | undefined;
  /** Every name by which clients can call the tool here, the encoded one first: a rule for one applies to all. */
  readonly names?: readonly string[] | undefined;
  /** Rewrites a result to the client's names. Undefined if there is nothing to rename. */
  renamed?(result: ResultResponse): ResultResponse;
}

/** What a target was asked for. */
export interface AskedTarget extends Omit<ResolvedTarget, 'renamed'> {
  readonly name: string;
  readonly method: string;
  /** The client's URI for a resource, where it is not the backend's. */
  readonly address?: string | undefined;
}

/** A target whose results may have URIs in them, at an endpoint with several backends. */
export class LinkingTarget implements ResolvedTarget, ResultUris {
  readonly backend: string;
  readonly name: string;
  readonly message: Request;
  readonly asked: Request | undefined;
  readonly refusal: Failure | undefined;
  readonly names: readonly string[] | undefined;
  readonly #method: string;
  readonly #address: string | undefined;
  readonly #resources: ResourceOwners;
  readonly #endpoint: Endpoint;
  readonly #reader: Reader;

  constructor(asked: AskedTarget, resources: ResourceOwners, endpoint: Endpoint, reader: Reader) {
    this.backend = asked.backend;
    this.name = asked.name;
    this.message = asked.message;
    this.asked = asked.asked;
    this.refusal = asked.refusal;
    this.names = asked.names;
    this.#method = asked.method;
    this.#address = asked.address;
    this.#resources = resources;
    this.#endpoint = endpoint;
    this.#reader = reader;
  }

  renamed(result: ResultResponse): ResultResponse {
    return withClientUris(result, this);
  }

  get places(): readonly UriPlace[] {
    return uriPlacesIn(this.#method);
  }

  /**
   * What is read under an address of its own gets such addresses in its result. Other links are renamed where their URI
   * could belong to a different backend.
   */
  rename(): RenameUri {
    const address = this.#address;
    if (address !== undefined) return (uri) => (uri === this.name ? address : distinguished(this.backend, uri));
    const isShared = this.#resources.areShared(this.#endpoint);
    return (uri) => {
      const isPlain = !isShared || this.#resources.isPlain(this.#endpoint, this.backend, uri, this.#reader);
      return isPlain && !isReserved(uri) ? undefined : distinguished(this.backend, uri);
    };
  }
}
