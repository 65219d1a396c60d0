/**
 * The connections to a backend as one principal uses them: every request presents what the principal has in hand, and one that
 * is refused for it is sent again with something better, if there is such a thing. Whoever dispatches notices nothing: a request
 * that was refused with a 401 or 403 was not begun, so that it may be sent twice.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { HeaderRecord, Presenter } from '../../credentials/presenter.ts';
import { Failure } from '../../errors.ts';
import { closedByUs } from './context.ts';
import type { CallPool, CallPools } from './pool.ts';

/** What a refusal says beside its headers is for people; more of it than this is not worth keeping the connection for. */
const REFUSAL_BYTES = 64 * 1024;
/** How often one request is sent in all. How often a principal may be refused in a row is the presenter's to bound. */
const ATTEMPTS = 4;

export function presentedPools(pools: CallPools, presenter: Presenter): CallPools {
  return {
    calls: new PresentedPool(pools.calls, presenter),
    streams: new PresentedPool(pools.streams, presenter),
    handovers: new PresentedPool(pools.handovers, presenter),
  };
}

class PresentedPool implements CallPool {
  readonly #pool: CallPool;
  readonly #presenter: Presenter;
  /** Requests that wait for something to present: they have no connection, and are bounded all the same. */
  #waiting = 0;

  constructor(pool: CallPool, presenter: Presenter) {
    this.#pool = pool;
    this.#presenter = presenter;
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
    new Attempts({ pool: this.#pool, presenter: this.#presenter, wait }, options, handler).begin();
  }

  done(): void {
    // Each attempt tells the pool of its own end.
  }
}

interface Means {
  readonly pool: CallPool;
  readonly presenter: Presenter;
  wait<T>(promise: Promise<T>): Promise<T>;
}

class Attempts implements Dispatcher.DispatchHandler {
  readonly #means: Means;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  #presented: HeaderRecord = {};
  #count = 0;
  #refusal: { readonly status: number; readonly wwwAuthenticate: readonly string[] } | undefined;
  #refusalBytes = 0;
  #over = false;

  constructor(means: Means, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    this.#means = means;
    this.#options = options;
    this.#handler = handler;
  }

  /** Throws a Failure where there is no room; everything else is told to the handler. */
  begin(): void {
    const headers = this.#means.presenter.headers();
    if (headers instanceof Promise) this.#sendWhenGiven(headers);
    else this.#send(headers);
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
    const challenges = challengesIn(headers);
    // A 403 that demands nothing has nothing to do with what was presented.
    if ((status === 401 || (status === 403 && challenges.length > 0)) && this.#count < ATTEMPTS) {
      this.#refusal = { status, wwwAuthenticate: challenges };
      this.#refusalBytes = 0;
    } else this.#handler.onResponseStart?.(controller, status, headers, text);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#refusal === undefined) this.#handler.onResponseData?.(controller, chunk);
    else {
      this.#refusalBytes += chunk.byteLength;
      if (this.#refusalBytes > REFUSAL_BYTES) controller.abort(closedByUs);
    }
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    this.#means.pool.done();
    if (this.#refusal === undefined) this.#handler.onResponseEnd?.(controller, trailers);
    else this.#improve();
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#means.pool.done();
    // The refusal is known, whatever became of the rest of it.
    if (this.#refusal !== undefined) this.#improve();
    else this.#handler.onResponseError?.(controller, error);
  }

  #improve(): void {
    const refusal = this.#refusal;
    this.#refusal = undefined;
    if (refusal === undefined) return;
    const { presenter } = this.#means;
    const better = presenter.refused({ ...refusal, presented: this.#presented });
    this.#sendWhenGiven(better.then(() => presenter.headers()));
  }

  #sendWhenGiven(headers: Promise<HeaderRecord>): void {
    this.#means
      .wait(headers)
      .then((given) => this.#send(given))
      .catch((error: unknown) => this.#fail(error));
  }

  #send(headers: HeaderRecord): void {
    this.#presented = headers;
    this.#count += 1;
    const options = { ...this.#options, headers: withCredentials(this.#options.headers, headers) };
    this.#means.pool.dispatch(options, this);
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    const failure = error instanceof Error ? error : new Failure('internal_error', { cause: error });
    this.#handler.onResponseError?.(neverStarted, failure);
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

/** What is presented takes the place of configured headers of the same name. */
function withCredentials(given: Dispatcher.DispatchOptions['headers'], presented: HeaderRecord): string[] {
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
