/**
 * The connections to a backend as one principal uses them: every request presents what the principal has in hand, and one that
 * is refused for it is sent again with something better, if there is such a thing. Whoever dispatches notices nothing: a request
 * that was refused with a 401 or 403 was not begun, so that it may be sent twice.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors/failure.ts';
import type { CredentialHeaders, CredentialProvider, UpstreamRefusal } from '../../oauth/client/credential-provider.ts';
import { closedByUs } from './context.ts';
import type { CallPool, CallPools } from './pool.ts';

/** What a refusal says beside its headers is for people; more of it than this is not worth keeping the connection for. */
const REFUSAL_BYTES = 64 * 1024;
/** How often one request is sent in all. How often a principal may be refused in a row is the presenter's to bound. */
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
  /** Requests that wait for something to present: they have no connection, and are bounded all the same. */
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
    // Each attempt tells the pool of its own end.
  }
}

interface PresentedParts {
  readonly pool: CallPool;
  readonly credentialProvider: CredentialProvider;
  wait<T>(promise: Promise<T>): Promise<T>;
}

/** One request, until it is answered with something else than a refusal, or nothing better can be presented. */
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

  /** Throws a Failure where there is no room; everything else is told to the handler. */
  begin(): void {
    const headers = this.#means.credentialProvider.headers();
    if (headers instanceof Promise) void this.#sendWhenGiven(headers);
    else this.#send(headers);
  }

  get isLast(): boolean {
    return this.#count >= ATTEMPTS;
  }

  /** Resolves when it is known whether there is anything better, whatever came of it. */
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

/** One time that it is sent. */
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
    // A 403 that demands nothing has nothing to do with what was presented.
    const isRefusal = status === 401 || (status === 403 && wwwAuthenticate.length > 0);
    if (!isRefusal || this.#attempts.isLast) {
      this.#handler.onResponseStart?.(controller, status, headers, text);
      return;
    }
    this.#isRefused = true;
    // The head says it all. What follows has until then to come to its end, so that the connection can be kept.
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

/** For a handler that is told of an end without there having been a connection. */
const neverStarted: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: closedByUs,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

/** As long as nobody demanded anything. */
function isNothing(presented: CredentialHeaders): boolean {
  for (const _name in presented) return false;
  return true;
}

/** What is presented takes the place of configured headers of the same name. */
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
