/** A POST or DELETE whose answer is only a status: handed over, or not. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Failure } from '../../errors.ts';
import { closedByUs } from './context.ts';
import { mediaType } from './headers.ts';
import type { BoundedPool } from './pool.ts';
import { failureOfError, failureOfStatus } from './verdict.ts';

/** A status page or an error object; more than that is not worth keeping the connection for. */
const REST_BYTES = 64 * 1024;

export class Handover implements Dispatcher.DispatchHandler {
  readonly #pool: BoundedPool;
  readonly #resolve: () => void;
  readonly #reject: (failure: Failure) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #isAborted = false;
  #restBytes = 0;

  /** Rejects with a Failure; a 404 with `backend_session_lost`. Whoever sends it bounds it with `abort`. */
  static send(
    pool: BoundedPool,
    options: Dispatcher.DispatchOptions,
    started: (handover: Handover) => void,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const handover = new Handover(pool, resolve, reject);
      started(handover);
      try {
        pool.dispatch(options, handover);
      } catch (cause) {
        reject(failureOfError(cause));
      }
    });
  }

  private constructor(pool: BoundedPool, resolve: () => void, reject: (failure: Failure) => void) {
    this.#pool = pool;
    this.#resolve = resolve;
    this.#reject = reject;
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
    if (status < 300) this.#resolve();
    else this.#reject(failureOfStatus(status, true));
    // Some servers answer a notification with a stream on which nothing will ever come.
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
