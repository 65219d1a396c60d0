/** A POST or DELETE whose response is only a status: accepted, or not. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import { closedByUs } from './context.ts';
import { mediaType } from './headers.ts';
import type { CallPool } from './pool.ts';
import { failureOfError, failureOfStatus } from './verdict.ts';

/** Fits a status page or an error object. For more than that, keeping the connection is not worth it. */
const REST_BYTES = 64 * 1024;

export class OneWayPost implements Dispatcher.DispatchHandler {
  /** Resolves when the backend accepted it. Rejects with a Failure; after a 404 with `backend_session_lost`. */
  readonly taken: Promise<void>;
  readonly #pool: CallPool;
  #resolve: () => void = () => undefined;
  #reject: (failure: Failure) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #isAborted = false;
  #restBytes = 0;

  /** Has no time limit of its own: the caller uses `abort`. */
  static send(pool: CallPool, options: Dispatcher.DispatchOptions): OneWayPost {
    const handover = new OneWayPost(pool);
    try {
      pool.dispatch(options, handover);
    } catch (cause) {
      handover.#reject(failureOfError(cause));
    }
    return handover;
  }

  private constructor(pool: CallPool) {
    this.#pool = pool;
    this.taken = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Undefined where the backend has not responded. */
  get status(): number | undefined {
    return this.#status;
  }

  abort(failure: Failure): void {
    this.#isAborted = true;
    this.#reject(failure);
    this.#controller?.abort(closedByUs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isAborted) controller.abort(closedByUs);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    if (status < 300) this.#resolve();
    else this.#reject(failureOfStatus(status, true));
    // Some servers answer a notification with a stream that stays empty.
    if (mediaType(headers) === 'sse') controller.abort(closedByUs);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#restBytes += chunk.byteLength;
    if (this.#restBytes > REST_BYTES) controller.abort(closedByUs);
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    this.#pool.done();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#controller = undefined;
    this.#pool.done();
    this.#reject(failureOfError(error));
  }
}

export interface HandoverOptions {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly headers: string[];
  readonly body: Uint8Array | null;
}

/** The one-way posts of one channel. None outlives the channel. */
export class OneWayPosts {
  readonly #pool: CallPool;
  readonly #handoverMs: number;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #open = new Set<OneWayPost>();

  constructor(pool: CallPool, limits: { readonly handoverMs: number }, clock: Pick<Clock, 'after'>) {
    this.#pool = pool;
    this.#handoverMs = limits.handoverMs;
    this.#clock = clock;
  }

  /** Rejects with a Failure, at the latest after `handoverMs`. */
  async send(options: HandoverOptions): Promise<void> {
    const handover = this.begin(this.#pool, options);
    const cancelTimer = this.#clock.after(this.#handoverMs, () => handover.abort(new Failure('backend_timeout')));
    try {
      await handover.taken;
    } finally {
      cancelTimer();
    }
  }

  /** Uses the given pool. The caller sets the time limit, and learns of the end by `taken`. */
  begin(pool: CallPool, options: HandoverOptions): OneWayPost {
    const handover = OneWayPost.send(pool, { ...options, bodyTimeout: this.#handoverMs });
    this.#open.add(handover);
    const over = (): void => void this.#open.delete(handover);
    handover.taken.then(over, over);
    return handover;
  }

  close(failure: Failure): void {
    for (const handover of [...this.#open]) handover.abort(failure);
  }
}
