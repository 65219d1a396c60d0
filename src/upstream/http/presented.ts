/**
 * The connections to a backend as one principal uses them. Every request carries the principal's current credentials; a
 * refused request is repeated with better ones, if there are any. The caller of `dispatch` does not notice: the backend
 * did not process a request that it refused with 401 or 403, so it may be sent twice.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors/failure.ts';
import type { CredentialHeaders, CredentialProvider, UpstreamRefusal } from '../../oauth/client/credential-provider.ts';
import { closedByUs } from './context.ts';
import type { CallPool, CallPools } from './pool.ts';

/** The body of a refusal is for people. For more than this, keeping the connection is not worth it. */
const REFUSAL_BYTES = 64 * 1024;
/** How often one request is sent in total. The credential provider limits how often a principal is refused in a row. */
const ATTEMPTS = 4;

export function presentedPools(pools: CallPools, credentialProvider: CredentialProvider): CallPools {
  return {
    calls: new PresentedPool(pools.calls, credentialProvider),
    streams: new PresentedPool(pools.streams, credentialProvider),
    handovers: new PresentedPool(pools.handovers, credentialProvider),
  };
}

class PresentedPool implements CallPool {
  readonly #pool: CallPool;
  readonly #credentialProvider: CredentialProvider;
  /** Requests that wait for credentials. They have no connection, and are limited all the same. */
  #waiting = 0;

  constructor(pool: CallPool, credentialProvider: CredentialProvider) {
    this.#pool = pool;
    this.#credentialProvider = credentialProvider;
  }

  get most(): number {
    return this.#pool.most;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    if (this.#waiting >= this.most)
      throw new Failure('backend_busy', { message: 'Too many requests wait for a token' });
    const wait = <T>(promise: Promise<T>): Promise<T> => {
      this.#waiting += 1;
      return promise.finally(() => {
        this.#waiting -= 1;
      });
    };
    new PresentedRequest(
      { pool: this.#pool, credentialProvider: this.#credentialProvider, wait },
      options,
      handler,
    ).begin();
  }

  done(): void {
    // Each attempt calls `done` on the underlying pool itself.
  }
}

interface PresentedParts {
  readonly pool: CallPool;
  readonly credentialProvider: CredentialProvider;
  wait<T>(promise: Promise<T>): Promise<T>;
}

/** One request, until its response is no refusal, or no better credentials can be had. */
class PresentedRequest {
  readonly #means: PresentedParts;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  #count = 0;
  #over = false;

  constructor(means: PresentedParts, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    this.#means = means;
    this.#options = options;
    this.#handler = handler;
  }

  /** Throws a Failure where the pool is full; everything else is reported to the handler. */
  begin(): void {
    const headers = this.#means.credentialProvider.headers();
    if (headers instanceof Promise) void this.#sendWhenGiven(headers);
    else this.#send(headers);
  }

  get isLast(): boolean {
    return this.#count >= ATTEMPTS;
  }

  /** Resolves when the attempt to get better credentials is over, with any outcome. */
  improve(refusal: UpstreamRefusal): Promise<void> {
    const { credentialProvider } = this.#means;
    return this.#sendWhenGiven(credentialProvider.refused(refusal).then(() => credentialProvider.headers()));
  }

  #sendWhenGiven(headers: Promise<CredentialHeaders>): Promise<void> {
    return this.#means
      .wait(headers)
      .then((given) => this.#send(given))
      .catch((error: unknown) => this.#fail(error));
  }

  #send(presented: CredentialHeaders): void {
    this.#count += 1;
    const options = isNothing(presented)
      ? this.#options
      : { ...this.#options, headers: withCredentials(this.#options.headers, presented) };
    this.#means.pool.dispatch(options, new Attempt(this, this.#means.pool, this.#handler, presented));
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    const failure = error instanceof Error ? error : new Failure('internal_error', { cause: error });
    this.#handler.onResponseError?.(neverStarted, failure);
  }
}

/** One attempt to send the request. */
class Attempt implements Dispatcher.DispatchHandler {
  readonly #attempts: PresentedRequest;
  readonly #pool: CallPool;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #presented: CredentialHeaders;
  #isRefused = false;
  #isDone = false;
  #refusalBytes = 0;

  constructor(
    attempts: PresentedRequest,
    pool: CallPool,
    handler: Dispatcher.DispatchHandler,
    presented: CredentialHeaders,
  ) {
    this.#attempts = attempts;
    this.#pool = pool;
    this.#handler = handler;
    this.#presented = presented;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    text?: string,
  ): void {
    const wwwAuthenticate = challengesIn(headers);
    // A 403 without a challenge has nothing to do with the credentials.
    const isRefusal = status === 401 || (status === 403 && wwwAuthenticate.length > 0);
    if (!isRefusal || this.#attempts.isLast) {
      this.#handler.onResponseStart?.(controller, status, headers, text);
      return;
    }
    this.#isRefused = true;
    // The headers say everything. The body may end while we get better credentials; the connection can be kept then.
    void this.#attempts.improve({ status, wwwAuthenticate, presented: this.#presented }).then(() => {
      if (!this.#isDone) controller.abort(closedByUs);
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isRefused) this.#handler.onResponseData?.(controller, chunk);
    else {
      this.#refusalBytes += chunk.byteLength;
      if (this.#refusalBytes > REFUSAL_BYTES) controller.abort(closedByUs);
    }
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    this.#done();
    if (!this.#isRefused) this.#handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#done();
    if (!this.#isRefused) this.#handler.onResponseError?.(controller, error);
  }

  #done(): void {
    this.#isDone = true;
    this.#pool.done();
  }
}

/** The controller for a handler that fails before there was a connection. */
const neverStarted: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: closedByUs,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

/** No credentials until the backend challenges. */
function isNothing(presented: CredentialHeaders): boolean {
  for (const _name in presented) return false;
  return true;
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
