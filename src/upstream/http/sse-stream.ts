/**
 * The stream of one HTTP+SSE session (2024-11-05, basic/transports, "HTTP with SSE"): a GET whose first event names the
 * address for messages. It cannot be resumed, so its end is the end of the session.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors/failure.ts';
import type { Message } from '../../wire/message.ts';
import type { SseEvent } from '../../wire/sse.ts';
import { VIA } from '../../wire/via.ts';
import type { Reception } from '../channel.ts';
import { closedByUs, type HearVia } from './context.ts';
import { messageIn } from './cursor.ts';
import { EventFlow, type FlowContext } from './flow.ts';
import { mediaType, type RequestHeaders, singleHeader } from './headers.ts';
import type { CallPool } from './pool.ts';
import { failureOfError, failureOfStatus } from './verdict.ts';

export interface SessionListener {
  /** The address in the first event: called once, before any message. Throws a Failure where it is no valid address. */
  named(address: string): void;
  message(message: Message): Reception;
  /** Called once, and not after `close`. */
  ended(failure: Failure): void;
}

export interface SseStreamParts extends FlowContext {
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly told?: HearVia | undefined;
}

/** `unnamed`: the stream is open, and has not named the address for messages yet. */
type SsePhase = 'head' | 'unnamed' | 'named' | 'over';

export class SessionStream implements Dispatcher.DispatchHandler {
  readonly #context: SseStreamParts;
  readonly #pool: CallPool;
  readonly #flow: EventFlow;
  readonly #listener: SessionListener;
  #phase: SsePhase = 'head';
  #controller: Dispatcher.DispatchController | undefined;

  constructor(context: SseStreamParts, pool: CallPool, listener: SessionListener) {
    this.#context = context;
    this.#pool = pool;
    this.#listener = listener;
    this.#flow = new EventFlow(context, 'the stream of a session', {
      event: (event) => this.#onEvent(event),
      message: (message) => (this.#isOver ? 'none' : listener.message(message)),
      broken: (failure) => this.#end(failure),
      flooded: (failure) => this.#end(failure),
    });
  }

  open(): void {
    const { path, headers } = this.#context;
    try {
      this.#pool.dispatch({ method: 'GET', path, headers: headers.get({}) }, this);
    } catch (cause) {
      this.#end(failureOfError(cause));
    }
  }

  close(): void {
    this.#phase = 'over';
    this.#flow.stop();
    this.#controller?.abort(closedByUs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(closedByUs);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#phase !== 'head') return;
    const via = singleHeader(headers, VIA);
    if (via !== undefined) this.#context.told?.(via);
    const type = mediaType(headers);
    if (status === 200 && type === 'sse') {
      this.#phase = 'unnamed';
      this.#flow.opened(controller);
    } else if (status >= 300) this.#end(failureOfStatus(status, false));
    else this.#end(new Failure('backend_invalid', { cause: new Error(`HTTP status ${status}, ${type}`) }));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isOver) this.#flow.push(chunk);
  }

  onResponseEnd(): void {
    this.#flow.closed();
    const reason = this.#phase === 'unnamed' ? 'backend_invalid' : 'backend_unavailable';
    this.#over(new Failure(reason, { message: 'The backend ended its stream' }));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#flow.closed();
    this.#over(failureOfError(error));
  }

  /** Throws a Failure where reading cannot continue. */
  #onEvent(event: SseEvent): void {
    if (event.event === 'endpoint') this.#name(event.data);
    // The standalone stream of Streamable HTTP begins like this.
    else if (this.#phase === 'unnamed' && messageIn(event) !== undefined)
      throw new Failure('backend_invalid', { message: 'No endpoint event came first' });
  }

  get #isOver(): boolean {
    return this.#phase === 'over';
  }

  #name(data: Uint8Array | undefined): void {
    if (this.#phase === 'named') {
      // Messages in flight would belong to two sessions.
      this.#context.notes.noise('unreadable', 'another endpoint event on the same stream');
      return;
    }
    this.#phase = 'named';
    this.#listener.named(Buffer.from(data ?? []).toString('utf8'));
  }

  #over(failure: Failure): void {
    this.#controller = undefined;
    this.#pool.done();
    this.#end(failure);
  }

  #end(failure: Failure): void {
    if (this.#isOver) return;
    this.close();
    this.#listener.ended(failure);
  }
}
