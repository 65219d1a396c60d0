/** One request of the gateway's own, and its outcome. */
import { Failure } from '../errors/failure.ts';
import type { ToldOpening } from '../exchange/trace.ts';
import { within } from '../exchange/within.ts';
import type { Notification, Request, Response } from '../wire/message.ts';
import type { Channel, HttpFacts, Outgoing, Pending, RequestSink } from './channel.ts';
import type { TimerClock } from './deadlines.ts';
import type { Reception } from './reception.ts';

export type ProbeAnswer =
  | { readonly kind: 'answered'; readonly message: Response; readonly http: HttpFacts | undefined }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly http: HttpFacts | undefined }
  /** No answer within the time limit; it may still come. */
  | { readonly kind: 'silent' };

export class ProbeRequest implements RequestSink {
  readonly answer: Promise<ProbeAnswer>;
  readonly #heard: (message: Notification | Request) => void;
  #told: ToldOpening | undefined;
  #pending: Pending | undefined;
  #resolve: (answer: ProbeAnswer) => void = () => undefined;

  /** `heard` gets the messages on the request's stream before the answer. `told`: traces, where there are any. */
  constructor(
    channel: Channel,
    outgoing: Outgoing,
    heard: (message: Notification | Request) => void,
    told?: ToldOpening,
  ) {
    this.#heard = heard;
    this.#told = told;
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#pending = channel.request(outgoing, this);
  }

  message(message: Notification | Request): Reception {
    this.#heard(message);
    return 'none';
  }

  answered(message: Response, http: HttpFacts | undefined): void {
    this.#tell(message);
    this.#resolve({ kind: 'answered', message, http });
  }

  failed(failure: Failure, http: HttpFacts | undefined): void {
    this.#tell(failure);
    this.#resolve({ kind: 'failed', failure, http });
  }

  alive(): void {
    return;
  }

  paused(): void {
    return;
  }

  /** The answer, or silence after the time limit. The request stays open until `drop`. */
  within(ms: number, clock: TimerClock): Promise<ProbeAnswer> {
    return within(clock, ms, this.answer, () => ({ kind: 'silent' }) as const);
  }

  /** Stops waiting. Sends no cancellation, because `initialize` must not be cancelled. */
  drop(): void {
    if (this.#told !== undefined) this.#tell(new Failure('backend_timeout'));
    this.#pending?.abort();
    this.#pending = undefined;
  }

  #tell(answer: Response | Failure): void {
    this.#told?.(answer);
    this.#told = undefined;
  }
}
