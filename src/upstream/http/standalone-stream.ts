/**
 * The backend's standalone stream (2025-11-25, basic/transports, "Listening for Messages from the Server"): a GET that
 * is repeated whenever it ends, for as long as its session lives. A backend without one is no failure; calls work
 * without it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Failure } from '../../errors/failure.ts';
import type { Message } from '../../wire/message.ts';
import type { ChannelSink, StandaloneListener } from '../channel.ts';
import { excerpt, readIncoming } from '../incoming.ts';
import type { Reception } from '../reception.ts';
import { BoundedBody } from './body.ts';
import type { HttpContext } from './context.ts';
import { EventFlow, type FlowListener } from './flow.ts';
import { type HeaderRecord, mediaType, namesSession } from './headers.ts';
import { type Controller, PooledRequest } from './presented.ts';
import { Reconnects } from './reconnects.ts';
import { isPassing } from './verdict.ts';

/**
 * A stream that was open this long counts as working: proxies end idle streams every minute or so, which must not add
 * up.
 */
const STEADY_MS = 10_000;
/** While a backend answers calls, the stream is retried after this part of the pause, and no sooner than a second. */
const REACHED_PART = 0.1;
const REACHED_MIN_MS = 1_000;
const BAD_REQUEST = 400;
const METHOD_NOT_ALLOWED = 405;
/** Size limit of the JSON-RPC error that comes with a 404. */
const REFUSAL_BYTES = 64 * 1024;

type StandalonePhase = 'head' | 'stream' | 'refusal' | 'away' | 'over';

export class StandaloneStream extends PooledRequest implements FlowListener {
  readonly #context: HttpContext;
  readonly #own: HeaderRecord;
  readonly #sink: ChannelSink;
  readonly #listener: StandaloneListener;
  readonly #flow: EventFlow;
  readonly #reconnects: Reconnects;
  /** Resolves when the first GET was answered, or can no longer be. */
  readonly answered: Promise<void>;
  /** Resolves it. */
  #answer: (() => void) | undefined;
  #phase: StandalonePhase = 'head';
  #openedAt: number | undefined;
  #refusal: BoundedBody | undefined;
  #cancelTimer: (() => void) | undefined;
  /** Set while the stream is lost: reports to the log how that ended. */
  #lost: ((how: 'back' | 'closed') => void) | undefined;
  /** Messages of the backend were lost meanwhile. */
  #missed = false;
  /** The stream was ended for flooding or for an unreadable event, and has not proved since that it works without. */
  #isFaulty = false;
  /** The last attempt opened no stream. */
  #failed = false;
  /** While waiting after a failed attempt: from this time on, an answered call triggers a retry. */
  #retryableFrom = Number.POSITIVE_INFINITY;

  constructor(context: HttpContext, own: HeaderRecord, sink: ChannelSink, listener: StandaloneListener) {
    super(context.pools.streams);
    this.#context = context;
    this.#own = own;
    this.#sink = sink;
    this.#listener = listener;
    this.#flow = new EventFlow(context, 'the standalone stream', this);
    this.#reconnects = new Reconnects(context.limits, context.random);
    this.answered = new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  get isOver(): boolean {
    return this.#phase === 'over';
  }

  open(): void {
    const { path, headers } = this.#context;
    this.#phase = 'head';
    this.#retryableFrom = Number.POSITIVE_INFINITY;
    this.dispatch({ method: 'GET', path, headers: headers.get(this.#own, this.#flow.lastEventId) });
  }

  close(): void {
    this.#end();
    this.#answer?.();
    this.#cancelTimer?.();
    this.disconnect();
  }

  /** A call was answered, so the backend can be reached again. */
  reached(): void {
    if (this.#phase !== 'away' || this.#context.clock.now() < this.#retryableFrom) return;
    this.#cancelTimer?.();
    this.open();
  }

  protected override responded(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (this.#phase !== 'head') return;
    this.#answer?.();
    this.#answer = undefined;
    if (status === 200 && mediaType(headers) === 'sse') {
      this.#flow.opened(controller);
      this.#openedAt = this.#context.clock.now();
      this.#phase = 'stream';
      this.#onOpened();
    } else if (status === 404 && namesSession(this.#own)) {
      this.#refusal = new BoundedBody(REFUSAL_BYTES);
      this.#phase = 'refusal';
    } else if (isPassing(status) || (this.#openedAt !== undefined && status !== METHOD_NOT_ALLOWED)) {
      controller.abort(new Error(`HTTP status ${status}`));
      if (status === BAD_REQUEST && namesSession(this.#own)) this.#listener.doubted();
    } else this.#none(status);
  }

  protected override received(chunk: Buffer): void {
    if (this.#phase === 'refusal' && this.#refusal?.add(chunk) === false) this.#none(404);
    if (this.#phase === 'stream') this.#flow.push(chunk);
  }

  protected override ended(error: Error | undefined): void {
    this.#flow.closed();
    if (error === undefined && this.#phase === 'refusal') this.#onRefusal();
    else this.#again(error ?? 'the backend ended the stream');
  }

  /** Called by the flow, like `broken` and `flooded`. */
  message(message: Message): Reception {
    if (this.#phase === 'over') return 'none';
    this.#progress();
    if (message.kind === 'request' || message.kind === 'notification') return this.#sink.stray(message);
    this.#context.notes.noise('unknown_id', excerpt(message.bytes));
    return 'none';
  }

  broken(): void {
    this.#context.notes.noise('unreadable', 'an event over the limit on the standalone stream');
    this.#isFaulty = true;
    this.disconnect();
  }

  flooded(failure: Failure): void {
    this.#isFaulty = true;
    this.disconnect(failure);
  }

  #again(cause: unknown): void {
    this.#answer?.();
    this.#cancelTimer?.();
    if (this.#phase === 'over') return;
    const { clock, notes } = this.#context;
    const wasOpen = this.#phase === 'stream';
    if (wasOpen && clock.now() - (this.#openedAt ?? 0) >= STEADY_MS) this.#stood();
    this.#phase = 'away';
    // If the first attempt resumes the stream, the gap is a moment, as where a proxy ends idle streams: nothing was
    // missed.
    this.#missed ||= !wasOpen || this.#isFaulty || this.#reconnects.attempts > 0;
    this.#failed = !wasOpen;
    this.#listener.away();
    if (this.#reconnects.isExhausted) {
      this.#lost ??= notes.streamLost(cause instanceof Error ? cause.message : String(cause));
      this.#listener.lost(
        new Failure('backend_unavailable', { message: 'The event stream of the backend was lost', cause }),
      );
    }
    const { retryMs } = this.#flow;
    const waitMs = this.#reconnects.always(retryMs, this.#isFaulty ? 'flooded' : wasOpen ? 'served' : 'failed');
    if (!wasOpen) {
      const leastMs = Math.max(REACHED_MIN_MS, waitMs * REACHED_PART, retryMs ?? 0);
      this.#retryableFrom = clock.now() + leastMs;
    }
    this.#cancelTimer = clock.after(waitMs, () => this.open());
  }

  /**
   * A backend that could not be reached is back. One that ends each stream at once must first prove that the stream
   * lasts.
   */
  #onOpened(): void {
    this.#listener.opened();
    if (this.#failed) this.#tellMissed();
    if (this.#lost !== undefined || this.#missed || this.#isFaulty) this.#awaitSteady();
  }

  #awaitSteady(): void {
    this.#cancelTimer = this.#context.clock.after(STEADY_MS, () => {
      if (this.#flow.isFlooding) this.#awaitSteady();
      else this.#stood();
    });
  }

  #tellMissed(): void {
    if (!this.#missed) return;
    this.#missed = false;
    this.#listener.missed();
  }

  #stood(): void {
    if (this.#flow.isFlooding) return;
    this.#isFaulty = false;
    this.#progress();
  }

  /** The stream works: an event came, or it was open long enough. Events of a flood prove nothing. */
  #progress(): void {
    if (this.#isFaulty) return;
    this.#tellMissed();
    this.#reconnects.progress();
    this.#lost?.('back');
    this.#lost = undefined;
  }

  #end(): void {
    this.#phase = 'over';
    this.#flow.stop();
    this.#lost?.('closed');
    this.#lost = undefined;
  }

  /**
   * By the specification a 404 means that the session ended. A server without a GET route sends a 404 as well, in its
   * framework's format. Only a JSON-RPC body, or a stream served before, proves that the server means the session.
   */
  #onRefusal(): void {
    const bytes = this.#refusal?.take() ?? new Uint8Array();
    if (this.#openedAt === undefined && !isMessage(bytes)) {
      this.#none(404);
      return;
    }
    this.#end();
    this.#sink.lost(new Failure('backend_session_lost'));
  }

  /** The backend offers no such stream: 405, or another status that a retry cannot cure. */
  #none(status: number): void {
    this.#end();
    this.#listener.none();
    if (status !== METHOD_NOT_ALLOWED)
      this.#context.notes.noise('unreadable', `HTTP status ${status} to GET: no standalone stream`);
    this.disconnect();
  }
}

function isMessage(bytes: Uint8Array): boolean {
  try {
    return readIncoming(bytes).length > 0;
  } catch {
    return false;
  }
}
