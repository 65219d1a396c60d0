/**
 * Connections to one backend's origin. There are three pools, so that long requests cannot starve short ones: calls;
 * streams that stay open (GET, `subscriptions/listen`); and one-way posts, among them the responses and cancellations
 * that running calls need in order to end.
 */
import type { Dispatcher } from 'undici';
import Pool from 'undici/lib/dispatcher/pool.js';
import { Failure } from '../../errors/failure.ts';
import { createConnector } from '../../oauth/fetch/connector.ts';
import { wayClosed } from './context.ts';
import type { PoolCredentials } from './presented.ts';

export interface HttpPoolLimits {
  /** Until a connection is established, TLS included. */
  readonly connectMs: number;
  /** Size of the headers of a response. */
  readonly headerBytes: number;
  /** Concurrent calls: each has a connection while it runs. */
  readonly connections: number;
  /** Calls that wait for a connection. */
  readonly queue: number;
  /** Streams that stay open. */
  readonly streams: number;
}

/** Additional connections for probes and `initialize`, which must not wait behind calls. */
export const HTTP_HANDSHAKES = 16;
/** More requests would not be served within the time that clients wait. */
export const HTTP_QUEUE = 1024;
/** One-way posts are answered at once, so this few connections carry thousands of them in a second. */
const ONE_WAY_CONNECTIONS = 16;

/** The connections of a pool, as one principal uses them. */
export interface CallPool {
  readonly connections: BoundedPool;
  /** Absent where the backend gets no credentials beside its configured headers. */
  readonly credentials?: PoolCredentials | undefined;
}

export interface CallPools {
  readonly calls: CallPool;
  readonly streams: CallPool;
  readonly oneWay: CallPool;
}

export class BoundedPool implements CallPool {
  readonly connections = this;
  /** Limit of requests in flight. */
  readonly most: number;
  readonly #open: () => Pool;
  readonly #full: (() => void) | undefined;
  #pool: Pool | undefined;
  #inFlight = 0;
  #closed = false;

  /** `full`: called for each request that found the pool full. */
  constructor(most: number, open: () => Pool, full?: () => void) {
    this.most = most;
    this.#open = open;
    this.#full = full;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Throws a Failure where the pool is full. Everything else is reported to the handler, possibly before this returns.
   * The handler must call `done` once, from `onResponseEnd` or `onResponseError`.
   */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    if (this.#closed) throw wayClosed();
    if (this.#inFlight >= this.most) {
      this.#full?.();
      throw new Failure('backend_busy', { message: `Backend busy: ${this.most} requests to it are running` });
    }
    this.#pool ??= this.#open();
    this.#inFlight++;
    this.#pool.dispatch(options, handler);
  }

  done(): void {
    this.#inFlight--;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool?.destroy();
  }
}

/** `socket`: of this machine, in place of a connection to the host of `url`. */
export interface HttpTarget {
  readonly url: URL;
  readonly socket?: string | undefined;
}

export class HttpPools implements CallPools {
  readonly calls: BoundedPool;
  readonly streams: BoundedPool;
  readonly oneWay: BoundedPool;

  /** `streamsFull`: called for each stream that found the pool full. */
  constructor({ url, socket }: HttpTarget, limits: HttpPoolLimits, streamsFull?: () => void) {
    const open = (connections: number) => (): Pool =>
      new Pool(url.origin, {
        connections,
        pipelining: 1,
        // Deadlines (deadlines.ts) decide per call how long a response may take.
        headersTimeout: 0,
        bodyTimeout: 0,
        maxHeaderSize: limits.headerBytes,
        connect: createConnector({ timeout: limits.connectMs, ...(socket !== undefined && { socketPath: socket }) }),
      });
    this.calls = new BoundedPool(limits.connections + limits.queue, open(limits.connections));
    this.streams = new BoundedPool(limits.streams, open(limits.streams), streamsFull);
    this.oneWay = new BoundedPool(ONE_WAY_CONNECTIONS + limits.queue, open(ONE_WAY_CONNECTIONS));
  }

  async close(): Promise<void> {
    await Promise.all([this.calls.close(), this.streams.close(), this.oneWay.close()]);
  }
}
