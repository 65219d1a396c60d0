/**
 * The outlets of one POST and the response that they share. The response stays undecided between JSON and a stream for
 * as long as possible: JSON is cheaper, and its status can still report a failure.
 */
import type {
  Connection,
  Outlet,
  OutletOptions,
  ResumableStream,
  Settlement,
  StreamEvent,
  Urgency,
} from '../exchange/outlet.ts';
import { concat, failureBytes, inOnePiece, type Raw } from '../wire/compose.ts';
import type { Era } from '../wire/revisions.ts';
import type { Accepted } from './accept.ts';
import type { HttpAnswer } from './answer.ts';
import { respondEmpty, respondFailure, respondJson } from './respond.ts';
import { type EventStreams, SseConnection } from './stream.ts';
import type { Sweep, Sweepable } from './sweep.ts';

/** What all POSTs of a server share. */
export interface Replies extends EventStreams {
  /** Turns responses that take longer than `sseAfterMs` into streams. Undefined: at once. */
  readonly undecided: Sweep | undefined;
}

export function openOutlets(
  res: HttpAnswer,
  accepted: Accepted,
  options: OutletOptions,
  shared: Replies,
): readonly Outlet[] {
  const answer = new PostAnswer(res, accepted, options, shared);
  return answer.outlets;
}

/**
 * For requests that were refused when their outlets were opened: `onAbandoned` fires at once, so no work is done for
 * them.
 */
export function refusedOutlets(requests: number): readonly Outlet[] {
  return Array.from({ length: requests }, () => refused);
}

const refused: Outlet = {
  carries: false,
  send: () => undefined,
  settle: () => undefined,
  pause: () => undefined,
  onAbandoned: (listener) => listener(),
};

class PostAnswer implements Sweepable {
  due = 0;
  readonly outlets: readonly PostOutlet[];
  readonly era: Era;
  readonly #res: HttpAnswer;
  readonly #accepted: Accepted;
  readonly #options: OutletOptions;
  readonly #shared: Replies;
  #unsettled: number;
  /** Settlements from before the response was decided, in their order. */
  #settlements: Settlement[] = [];
  /** Set once the response is a stream. */
  #stream: ResumableStream | undefined;
  #connection: SseConnection | undefined;

  constructor(res: HttpAnswer, accepted: Accepted, options: OutletOptions, shared: Replies) {
    this.era = options.era;
    this.#res = res;
    this.#accepted = accepted;
    this.#options = options;
    this.#shared = shared;
    this.#unsettled = options.requests;
    const outlet = () => new PostOutlet(this, accepted.sse);
    // Nearly always one, and every request runs this.
    this.outlets = options.requests === 1 ? [outlet()] : Array.from({ length: options.requests }, outlet);
    // A client with a resumable stream, and every legacy client, cancels with a notification, not by disconnecting.
    if (options.era === 'modern' && options.stream === undefined) res.whenGone(() => this.#abandon());
    if (!accepted.sse) return;
    if (options.longLived || shared.undecided === undefined) this.expire();
    else shared.undecided.add(this);
  }

  /** Slow, or long-lived from the start: send the headers and decide for a stream. */
  expire(): void {
    if (this.#res.gone) return;
    this.#becomeStream();
    this.#connection?.flush();
  }

  send(message: Uint8Array, urgency: Urgency, key: string | undefined): void {
    // A client that accepts only JSON gets one document: the response.
    if (this.#accepted.sse) this.#becomeStream().emit(message, urgency, key);
  }

  pause(retryMs: number | undefined): void {
    // Without a stream to resume, closing the connection would lose the response.
    if (this.#accepted.sse && this.#options.stream !== undefined) this.#becomeStream().pause(retryMs);
  }

  settle(settlement: Settlement): void {
    this.#unsettled -= 1;
    if (this.#stream === undefined) this.#settlements.push(settlement);
    else this.#emit(this.#stream, settlement);
    if (this.#unsettled > 0) return;
    this.#shared.undecided?.remove(this);
    if (this.#stream === undefined) this.#respond();
    else this.#stream.terminate();
  }

  #respond(): void {
    if (this.#settlements.every((settlement) => settlement.kind === 'silence')) this.#respondSilence();
    else if (this.#accepted.json || this.#saysMoreThanOk()) this.#respondJson();
    else this.#becomeStream().terminate();
  }

  /** Nothing was ever sent, so there is nothing to resume: no resumable stream is created. */
  #respondSilence(): void {
    if (this.#accepted.sse) new SseConnection(this.#res, this.#shared).end();
    else respondEmpty(this.#res, 204);
  }

  /** Such a status needs a JSON response. A client that accepts only streams can still read a status. */
  #saysMoreThanOk(): boolean {
    if (this.#options.batch) return false;
    return this.#settlements.some((settlement) => statusOf(settlement) !== 200);
  }

  #respondJson(): void {
    const [settlement] = this.#settlements;
    if (this.#options.batch) respondJson(this.#res, 200, this.#array());
    else if (settlement?.kind === 'response') respondJson(this.#res, settlement.status ?? 200, settlement.bytes);
    else if (settlement?.kind === 'failure') {
      respondFailure(this.#res, settlement.failure, { era: this.era, id: settlement.id });
    }
  }

  #array(): Uint8Array {
    const parts: Raw[] = [];
    for (const settlement of this.#settlements) {
      const bytes = this.#bytesOf(settlement);
      if (bytes !== undefined) parts.push(parts.length === 0 ? '[' : ',', bytes);
    }
    parts.push(']');
    return concat(parts);
  }

  #becomeStream(): ResumableStream {
    if (this.#stream !== undefined) return this.#stream;
    this.#shared.undecided?.remove(this);
    this.#connection = new SseConnection(this.#res, this.#shared);
    const stream = this.#options.stream?.() ?? new OneConnection();
    this.#stream = stream;
    stream.attach(this.#connection);
    for (const settlement of this.#settlements) this.#emit(stream, settlement);
    this.#settlements = [];
    return stream;
  }

  #emit(stream: ResumableStream, settlement: Settlement): void {
    const bytes = this.#bytesOf(settlement);
    if (bytes !== undefined) stream.emit(bytes, 'keep');
  }

  #bytesOf(settlement: Settlement): Uint8Array | undefined {
    if (settlement.kind === 'response') return inOnePiece(settlement.bytes);
    return settlement.kind === 'failure' ? failureBytes(settlement.failure, this.era, settlement.id) : undefined;
  }

  #abandon(): void {
    this.#shared.undecided?.remove(this);
    for (const outlet of this.outlets) outlet.abandon();
  }
}

function statusOf(settlement: Settlement): number {
  if (settlement.kind === 'response') return settlement.status ?? 200;
  if (settlement.kind !== 'failure') return 200;
  return settlement.failure.http?.status ?? settlement.failure.row.status;
}

/** A stream that ends with its connection. */
class OneConnection implements ResumableStream {
  #connection: Connection | undefined;

  attach(connection: Connection): void {
    this.#connection = connection;
  }

  emit(data: Uint8Array, urgency: Urgency, key?: string): void {
    const event: StreamEvent = { id: undefined, data, urgency, key };
    this.#connection?.send(event);
  }

  pause(): void {
    // It cannot be resumed.
  }

  terminate(): void {
    this.#connection?.end();
  }
}

class PostOutlet implements Outlet {
  readonly carries: boolean;
  readonly #answer: PostAnswer;
  #state: 'open' | 'settled' | 'abandoned' = 'open';
  #listeners: (() => void)[] | undefined;

  constructor(answer: PostAnswer, carries: boolean) {
    this.#answer = answer;
    this.carries = carries;
  }

  send(message: Uint8Array, urgency: Urgency, key?: string): void {
    if (this.#state === 'open') this.#answer.send(message, urgency, key);
  }

  settle(settlement: Settlement): void {
    if (this.#state !== 'open') return;
    this.#state = 'settled';
    this.#listeners = undefined;
    this.#answer.settle(settlement);
  }

  pause(retryMs: number | undefined): void {
    if (this.#state === 'open') this.#answer.pause(retryMs);
  }

  onAbandoned(listener: () => void): void {
    if (this.#state === 'abandoned') listener();
    else if (this.#state === 'open') {
      this.#listeners ??= [];
      this.#listeners.push(listener);
    }
  }

  abandon(): void {
    if (this.#state !== 'open') return;
    this.#state = 'abandoned';
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener();
  }
}
