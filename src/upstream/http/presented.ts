/**
 * A request to a backend as one principal sends it: with the principal's current credentials, and once more with better
 * ones where the backend refused them. The backend did not process a request that it refused with 401 or 403, so it may
 * be sent twice. Until a backend challenges there are no credentials, and the request goes out as it is.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors/failure.ts';
import type { LinkedList, ListMember } from '../../exchange/linked-list.ts';
import type { CredentialHeaders, CredentialProvider } from '../../oauth/client/credential-provider.ts';
import { closedByUs } from './context.ts';
import type { CallPool, CallPools } from './pool.ts';

/** One connection, while a request uses it. */
export type Controller = Dispatcher.DispatchController;

/** How much of an unwanted body is read in order to keep the connection: an error object, or a page for people. */
const UNWANTED_BYTES = 64 * 1024;
/** How often one request is sent in total. The credential provider limits how often a principal is refused in a row. */
const ATTEMPTS = 4;

export function presentedPools(pools: CallPools, provider: CredentialProvider): CallPools {
  const presenting = ({ connections }: CallPool): CallPool => ({
    connections,
    credentials: new PoolCredentials(provider, connections.most),
  });
  return {
    calls: presenting(pools.calls),
    streams: presenting(pools.streams),
    oneWay: presenting(pools.oneWay),
  };
}

/** The credentials of one principal for one pool. */
export class PoolCredentials {
  readonly provider: CredentialProvider;
  readonly #most: number;
  /** Requests that wait for credentials. They have no connection, and are limited all the same. */
  #waiting = 0;

  constructor(provider: CredentialProvider, most: number) {
    this.provider = provider;
    this.#most = most;
  }

  /** Throws a Failure where too many requests wait already. */
  headers(): CredentialHeaders | Promise<CredentialHeaders> {
    if (this.provider.stored?.isOpen === false) return nothing;
    if (this.#waiting >= this.#most) {
      throw new Failure('backend_busy', { message: 'Too many requests wait for a token' });
    }
    return this.provider.headers();
  }

  async wait(headers: Promise<CredentialHeaders>): Promise<CredentialHeaders> {
    this.#waiting += 1;
    try {
      return await headers;
    } finally {
      this.#waiting -= 1;
    }
  }
}

/** Without credentials nothing is presented. */
const nothing: CredentialHeaders = {};

/** One request, on as many connections as it takes. Subclasses get one response at a time, and no refusals. */
export abstract class PooledRequest implements Dispatcher.DispatchHandler, ListMember {
  previous: ListMember | undefined = undefined;
  next: ListMember | undefined = undefined;
  list: LinkedList<ListMember> | undefined = undefined;
  /** Of the current connection. Undefined while the request waits for one. */
  protected controller: Controller | undefined = undefined;
  readonly #pool: CallPool;
  #options: Dispatcher.DispatchOptions | undefined = undefined;
  #presented = nothing;
  #attempts = 0;
  /** Of the response that was a refusal, until its rest is read. */
  #refused: Controller | undefined = undefined;
  #isInFlight = false;
  #isDispatching = false;
  /** The response is not wanted any more, even where it has not begun. */
  #isCut = false;
  #unwantedBytes = 0;

  constructor(pool: CallPool) {
    this.#pool = pool;
  }

  protected abstract responded(controller: Controller, status: number, headers: IncomingHttpHeaders): void;
  protected abstract received(chunk: Buffer): void;
  /** The connection is closed. Also called where there never was one. */
  protected abstract ended(error: Error | undefined): void;

  /** Never throws. `ended` reports every failure, and not before this returns: the caller has no request until then. */
  protected dispatch(options: Dispatcher.DispatchOptions): void {
    this.#options = options;
    this.#attempts = 0;
    this.#isCut = false;
    try {
      const presented = this.#pool.credentials?.headers() ?? nothing;
      if (presented instanceof Promise) void this.#sendWhenGiven(presented);
      else this.#send(options, presented);
    } catch (cause) {
      queueMicrotask(() => this.ended(asError(cause)));
    }
  }

  protected disconnect(reason: Error = closedByUs): void {
    this.#isCut = true;
    this.controller?.abort(reason);
  }

  /** Reads on, so that the connection can be kept, unless too much follows. */
  protected discard(controller: Controller | undefined, chunk: Buffer): void {
    this.#unwantedBytes += chunk.byteLength;
    if (this.#unwantedBytes > UNWANTED_BYTES) controller?.abort(closedByUs);
  }

  onRequestStart(controller: Controller): void {
    this.controller = controller;
    if (this.#isCut) controller.abort(closedByUs);
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    if ((status === 401 || status === 403) && this.#improves(controller, status, headers)) return;
    // Only a refused request is sent again. A stream may stay open for hours: it keeps neither its request nor the
    // bytes of the headers, which were read.
    this.#options = undefined;
    controller.rawHeaders = null;
    this.responded(controller, status, headers);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (controller === this.#refused) this.discard(controller, chunk);
    else this.received(chunk);
  }

  onResponseEnd(controller: Controller): void {
    this.#closed(controller, undefined);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#closed(controller, error);
  }

  #closed(controller: Controller, error: Error | undefined): void {
    const { connections } = this.#pool;
    if (controller !== undefined && controller === this.#refused) {
      this.#refused = undefined;
      connections.done();
      return;
    }
    this.controller = undefined;
    // undici reports an exception of `onResponseEnd` as an error of the same response.
    if (this.#isInFlight) connections.done();
    this.#isInFlight = false;
    if (this.#isDispatching) queueMicrotask(() => this.ended(error));
    else this.ended(error);
  }

  #send(options: Dispatcher.DispatchOptions, presented: CredentialHeaders): void {
    this.#attempts++;
    this.#presented = presented;
    let sent = options;
    for (const _name in presented) {
      sent = { ...options, headers: withCredentials(options.headers, presented) };
      break;
    }
    this.#isInFlight = true;
    this.#isDispatching = true;
    try {
      this.#pool.connections.dispatch(sent, this);
    } catch (cause) {
      this.#isInFlight = false;
      throw cause;
    } finally {
      this.#isDispatching = false;
    }
  }

  async #sendWhenGiven(given: Promise<CredentialHeaders>): Promise<void> {
    try {
      const presented = await (this.#pool.credentials as PoolCredentials).wait(given);
      if (!this.#isCut) this.#send(this.#options as Dispatcher.DispatchOptions, presented);
    } catch (cause) {
      if (!this.#isCut) this.ended(asError(cause));
    }
  }

  /** Whether the response is a refusal after which the request is sent again. */
  #improves(controller: Controller, status: number, headers: IncomingHttpHeaders): boolean {
    const provider = this.#pool.credentials?.provider;
    const wwwAuthenticate = challengesIn(headers);
    // A 403 without a challenge has nothing to do with the credentials.
    const isRefusal = status === 401 || wwwAuthenticate.length > 0;
    if (provider === undefined || !isRefusal || this.#attempts >= ATTEMPTS) return false;
    this.#refused = controller;
    this.controller = undefined;
    this.#isInFlight = false;
    this.#unwantedBytes = 0;
    const better = provider.refused({ status, wwwAuthenticate, presented: this.#presented });
    // The headers say everything. The body may end while we get better credentials; the connection can be kept then.
    void this.#sendWhenGiven(better.then(() => provider.headers())).then(() => {
      if (this.#refused === controller) controller.abort(closedByUs);
    });
    return true;
  }
}

function asError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Failure('internal_error', { cause });
}

/** Credentials replace configured headers of the same name. */
function withCredentials(given: Dispatcher.DispatchOptions['headers'], presented: CredentialHeaders): string[] {
  const names = new Set(Object.keys(presented).map((name) => name.toLowerCase()));
  const flat = Array.isArray(given) ? (given as readonly string[]) : [];
  const headers: string[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const name = flat[at] as string;
    if (!names.has(name.toLowerCase())) headers.push(name, flat[at + 1] as string);
  }
  for (const name in presented) headers.push(name, presented[name] as string);
  return headers;
}

function challengesIn(headers: IncomingHttpHeaders): readonly string[] {
  const value = headers['www-authenticate'] as string | readonly string[] | undefined;
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}
