/**
 * The stream of one HTTP+SSE session (2024-11-05, basic/transports, "HTTP with SSE"): a GET whose first event names the
 * address for messages. It cannot be resumed, so its end is the end of the session.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Failure } from '../../errors/failure.ts';
import type { Message } from '../../wire/message.ts';
import type { SseEvent } from '../../wire/sse.ts';
import { VIA } from '../../wire/via.ts';
import type { Reception } from '../reception.ts';
import type { HearVia } from './context.ts';
import { EventFlow, type FlowContext, messageIn } from './flow.ts';
import { mediaType, type RequestHeaders, singleHeader } from './headers.ts';
import type { CallPool } from './pool.ts';
import { type Controller, PooledRequest } from './presented.ts';
import { failureOfError, failureOfStatus } from './verdict.ts';

export interface SessionListener {
  /** The address in the first event: called once, before any message. Throws a Failure where it is no valid address. */
  named(address: string): void;
  message(message: Message): Reception;
  unreadable(data: Uint8Array): Reception;
  /** Called once, and not after `close`. */
  ended(failure: Failure): void;
}

export interface SseStreamParts extends FlowContext {
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly told?: HearVia | undefined;
}

const ENDED = 'The backend ended its stream';

/** `unnamed`: the stream is open, and has not named the address for messages yet. */
type SsePhase = 'head' | 'unnamed' | 'named' | 'over';

export class SessionStream extends PooledRequest {
  readonly #context: SseStreamParts;
  readonly #flow: EventFlow;
  readonly #listener: SessionListener;
  #phase: SsePhase = 'head';

  constructor(context: SseStreamParts, pool: CallPool, listener: SessionListener) {
    super(pool);
    this.#context = context;
    this.#listener = listener;
    this.#flow = new EventFlow(context, 'the stream of a session', {
      event: (event) => this.#onEvent(event),
      message: (message) => (this.#isOver ? 'none' : listener.message(message)),
      unreadable: (data) => (this.#isOver ? 'none' : listener.unreadable(data)),
      broken: (failure) => this.#end(failure),
      flooded: (failure) => this.#end(failure),
    });
  }

  open(): void {
    const { path, headers } = this.#context;
    this.dispatch({ method: 'GET', path, headers: headers.get({}) });
  }

  close(): void {
    this.#phase = 'over';
    this.#flow.stop();
    this.disconnect();
  }

  protected override responded(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (this.#phase !== 'head') return;
    const via = singleHeader(headers, VIA);
    if (via !== undefined) this.#context.told?.(via);
    const type = mediaType(headers);
    if (status === 200 && type === 'sse') {
      this.#phase = 'unnamed';
      this.#flow.opened(controller);
    } else if (status >= 300) this.#end(failureOfStatus(status, false));
    else this.#end(new Failure('backend_invalid', { cause: new Error(`HTTP status ${status}, ${type}`) }));
  }

  protected override received(chunk: Buffer): void {
    if (!this.#isOver) this.#flow.push(chunk);
  }

  protected override ended(error: Error | undefined): void {
    this.#flow.closed();
    const reason = this.#phase === 'unnamed' ? 'backend_invalid' : 'backend_unavailable';
    this.#end(error === undefined ? new Failure(reason, { message: ENDED }) : failureOfError(error));
  }

  /** Throws a Failure where reading cannot continue. */
  #onEvent(event: SseEvent): void {
    if (event.event === 'endpoint') this.#name(event.data);
    // The standalone stream of Streamable HTTP begins like this.
    else if (this.#phase === 'unnamed' && messageIn(event) !== undefined)
      throw new Failure('backend_invalid', { message: 'The first event was not the endpoint event' });
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

  #end(failure: Failure): void {
    if (this.#isOver) return;
    this.close();
    this.#listener.ended(failure);
  }
}
