/**
 * The backend's standalone stream (2025-11-25, basic/transports, "Listening for Messages from the Server"): a GET that is
 * opened again whenever it ends, within bounds. That there is none is no failure; calls work without it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure } from '../../errors.ts';
import type { ChannelSink } from '../channel.ts';
import { excerpt, readEvent, readIncoming } from '../incoming.ts';
import { BoundedBody } from './body.ts';
import { closedByUs, type HttpContext } from './context.ts';
import { EventCursor, type EventListener } from './cursor.ts';
import { type HeaderRecord, mediaType, namesSession } from './headers.ts';
import type { CallPool } from './pool.ts';
import { Reconnects } from './reconnects.ts';
import { isPassing } from './verdict.ts';

/** A stream that stood for so long was a working one: proxies end idle streams every minute or so, and that must not add up. */
const STEADY_MS = 10_000;
/** The JSON-RPC error that comes with a 404. */
const REFUSAL_BYTES = 64 * 1024;

type Phase = 'head' | 'stream' | 'refusal' | 'away' | 'over';

export class StandingStream implements Dispatcher.DispatchHandler, EventListener {
  readonly #context: HttpContext;
  readonly #pool: CallPool;
  readonly #own: HeaderRecord;
  readonly #sink: ChannelSink;
  readonly #cursor: EventCursor;
  readonly #reconnects: Reconnects;
  /** When the first GET was answered, or will not be. */
  readonly answered: Promise<void>;
  #answer: () => void = () => undefined;
  #phase: Phase = 'head';
  #controller: Dispatcher.DispatchController | undefined;
  #openedAt: number | undefined;
  #refusal: BoundedBody | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(context: HttpContext, pool: CallPool, own: HeaderRecord, sink: ChannelSink) {
    this.#context = context;
    this.#pool = pool;
    this.#own = own;
    this.#sink = sink;
    this.#cursor = new EventCursor(context.limits.resultBytes);
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
    try {
      this.#pool.dispatch({ method: 'GET', path, headers: headers.get(this.#own, this.#cursor.lastEventId) }, this);
    } catch {
      this.#again();
    }
  }

  close(): void {
    this.#phase = 'over';
    this.#answer();
    this.#cancelTimer?.();
    this.#controller?.abort(closedByUs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#phase === 'over') controller.abort(closedByUs);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#phase !== 'head') return;
    this.#answer();
    if (status === 200 && mediaType(headers) === 'sse') {
      if (this.#openedAt !== undefined) this.#cursor.reopened();
      this.#openedAt = this.#context.clock.now();
      this.#phase = 'stream';
    } else if (status === 404 && namesSession(this.#own)) {
      this.#refusal = new BoundedBody(REFUSAL_BYTES);
      this.#phase = 'refusal';
    } else if (isPassing(status)) controller.abort(new Error(`HTTP status ${status}`));
    else this.#none(status);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'refusal' && this.#refusal?.add(chunk) === false) this.#none(404);
    if (this.#phase !== 'stream') return;
    try {
      this.#cursor.push(chunk, this);
    } catch {
      // Too large an event: what follows it on this connection cannot be read.
      this.#context.notes.noise('unreadable', 'an event over the limit on the standalone stream');
      this.#controller?.abort(closedByUs);
    }
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    this.#pool.done();
    if (this.#phase === 'refusal') this.#onRefusal();
    else this.#again();
  }

  onResponseError(): void {
    this.#controller = undefined;
    this.#pool.done();
    this.#again();
  }

  onEvent(data: Uint8Array): boolean {
    const messages = readEvent(data, this.#context.notes);
    if (messages === undefined) return true;
    this.#reconnects.progress();
    for (const message of messages) {
      if (this.#phase === 'over') break;
      if (message.kind === 'request' || message.kind === 'notification') this.#sink.stray(message);
      else this.#context.notes.noise('unknown_id', excerpt(message.bytes));
    }
    return this.#phase === 'stream';
  }

  #again(): void {
    this.#answer();
    if (this.#phase === 'over') return;
    const { clock, notes } = this.#context;
    if (this.#phase === 'stream' && clock.now() - (this.#openedAt ?? 0) >= STEADY_MS) this.#reconnects.progress();
    const waitMs = this.#reconnects.next(this.#cursor.retryMs);
    if (waitMs === undefined) {
      this.#phase = 'over';
      notes.noise('unreadable', 'the standalone stream could not be opened again');
      return;
    }
    this.#phase = 'away';
    this.#cancelTimer = clock.after(waitMs, () => this.open());
  }

  /**
   * 404: the session ended, says the specification; a server without a GET route says so too, in the words of its framework.
   * Only what speaks JSON-RPC, or did serve the stream before, is believed to know sessions.
   */
  #onRefusal(): void {
    const bytes = this.#refusal?.take() ?? new Uint8Array();
    if (this.#openedAt === undefined && !isMessage(bytes)) {
      this.#none(404);
      return;
    }
    this.#phase = 'over';
    this.#sink.lost(new Failure('backend_session_lost'));
  }

  /** The backend offers no such stream: 405, and what else cannot be cured by trying again. */
  #none(status: number): void {
    this.#phase = 'over';
    if (status !== 405) this.#context.notes.noise('unreadable', `HTTP status ${status} to GET: no standalone stream`);
    this.#controller?.abort(closedByUs);
  }
}

function isMessage(bytes: Uint8Array): boolean {
  try {
    return readIncoming(bytes).length > 0;
  } catch {
    return false;
  }
}
