/** A request over HTTP+SSE: sent by a POST, and answered on the stream of the session. */
import type { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { Response } from '../../wire/message.ts';
import type { HttpFacts, Pending } from '../channel.ts';
import type { AnswerSink, AwaitedAnswer } from '../correlation.ts';
import { wayClosed } from './context.ts';
import type { OneWayPost } from './one-way-post.ts';

export class PostedRequest implements Pending, AnswerSink {
  readonly #sink: AnswerSink;
  readonly #handoverMs: number;
  readonly #clock: Pick<Clock, 'after'>;
  #waiting: AwaitedAnswer | undefined;
  /** Set until the POST is answered. */
  #handover: OneWayPost | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(sink: AnswerSink, limits: { readonly handoverMs: number }, clock: Pick<Clock, 'after'>) {
    this.#sink = sink;
    this.#handoverMs = limits.handoverMs;
    this.#clock = clock;
  }

  /**
   * The POST has no time limit here, but that of its call: some servers accept a request only when they are done with
   * it.
   */
  begin(waiting: AwaitedAnswer, handover: OneWayPost): void {
    this.#waiting = waiting;
    this.#handover = handover;
    handover.taken.then(
      () => this.#handedOver(),
      (failure: Failure) => {
        this.#handedOver();
        const { status } = handover;
        waiting.fail(failure, status === undefined ? undefined : { status, sessionId: undefined });
      },
    );
  }

  abort(): void {
    this.#waiting?.abort();
    this.#drop();
  }

  /**
   * The response can come before that to the POST. The POST then gets `handoverMs` to complete, so that the connection
   * can be kept.
   */
  answered(message: Response, http: HttpFacts | undefined): void {
    if (this.#handover !== undefined) this.#cancelTimer = this.#clock.after(this.#handoverMs, () => this.#drop());
    this.#sink.answered(message, http);
  }

  failed(failure: Failure, http: HttpFacts | undefined): void {
    this.#drop();
    this.#sink.failed(failure, http);
  }

  #handedOver(): void {
    this.#handover = undefined;
    this.#cancelTimer?.();
  }

  #drop(): void {
    this.#handover?.abort(wayClosed());
  }
}
