/** A POST or DELETE whose response is only a status: accepted, or not. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import { LinkedList } from '../../exchange/linked-list.ts';
import { closedByUs } from './context.ts';
import { mediaType } from './headers.ts';
import type { CallPool } from './pool.ts';
import { type Controller, PooledRequest } from './presented.ts';
import { failureOfError, failureOfStatus } from './verdict.ts';

export class OneWayPost extends PooledRequest {
  /** Resolves when the backend accepted it. Rejects with a Failure; after a 404 with `backend_session_lost`. */
  readonly taken: Promise<void>;
  /** Undefined where the backend has not responded. */
  status: number | undefined;
  #resolve!: () => void;
  #reject!: (failure: Failure) => void;

  /** Has no time limit of its own: the caller uses `abort`. */
  static send(pool: CallPool, options: Dispatcher.DispatchOptions): OneWayPost {
    const post = new OneWayPost(pool);
    post.dispatch(options);
    return post;
  }

  private constructor(pool: CallPool) {
    super(pool);
    this.taken = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  abort(failure: Failure): void {
    this.#fail(failure);
    this.disconnect();
  }

  #fail(failure: Failure): void {
    this.list?.remove(this);
    this.#reject(failure);
  }

  protected override responded(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    if (status < 300) {
      this.list?.remove(this);
      this.#resolve();
    } else this.#fail(failureOfStatus(status, true));
    // Some servers answer a notification with a stream that stays empty.
    if (mediaType(headers) === 'sse') controller.abort(closedByUs);
  }

  protected override received(chunk: Buffer): void {
    this.discard(this.controller, chunk);
  }

  protected override ended(error: Error | undefined): void {
    if (error !== undefined) this.#fail(failureOfError(error));
  }
}

export interface OneWayOptions {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly headers: string[];
  readonly body: Uint8Array | null;
}

/** The one-way posts of one channel, until they are answered. None outlives the channel. */
export class OneWayPosts {
  readonly #pool: CallPool;
  readonly #oneWayMs: number;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #open = new LinkedList<OneWayPost>();

  constructor(pool: CallPool, limits: { readonly oneWayMs: number }, clock: Pick<Clock, 'after'>) {
    this.#pool = pool;
    this.#oneWayMs = limits.oneWayMs;
    this.#clock = clock;
  }

  /** Rejects with a Failure, at the latest after `oneWayMs`. */
  async send(options: OneWayOptions): Promise<void> {
    const post = this.begin(this.#pool, options);
    const cancelTimer = this.#clock.after(this.#oneWayMs, () => post.abort(new Failure('backend_timeout')));
    try {
      await post.taken;
    } finally {
      cancelTimer();
    }
  }

  /** Uses the given pool. The caller sets the time limit, and learns of the end by `taken`. */
  begin(pool: CallPool, options: OneWayOptions): OneWayPost {
    const { method, path, headers, body } = options;
    const post = OneWayPost.send(pool, { method, path, headers, body, bodyTimeout: this.#oneWayMs });
    this.#open.add(post);
    return post;
  }

  close(failure: Failure): void {
    for (const post of this.#open.members()) post.abort(failure);
  }
}
