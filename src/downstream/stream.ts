/** An HTTP response that is an event stream. */
import type { StreamEvent } from '../exchange/outlet.ts';
import { comment, encodeEvent } from '../wire/sse.ts';
import type { HttpAnswer } from './answer.ts';
import { type Deliveries, Delivery, PIECE_BYTES } from './delivery.ts';
import type { IngressNotes } from './events.ts';
import { Outbox, type OutboxLimits } from './outbox.ts';
import { beginStream, type ResponseHeaders } from './respond.ts';
import type { Sweep, Sweepable } from './sweep.ts';

/** What all streams of a server share. */
export interface EventStreams {
  readonly limits: OutboxLimits & { readonly keepAliveMs: number };
  readonly notes: IngressNotes;
  /** Sends a heartbeat on streams that were silent for `keepAliveMs`. */
  readonly keepAlive: Sweep;
  readonly deliveries: Deliveries;
}

const heartbeat = comment();

export interface SseOptions {
  /** Response headers besides those of every stream. */
  readonly headers?: ResponseHeaders;
  /**
   * The name of every event. 2024-11-05 names its messages; later revisions use the default name, which is the same.
   */
  readonly event?: string;
  /** If true, nothing is sent before `open`, headers included. */
  readonly held?: boolean;
}

export class SseConnection extends Outbox implements Sweepable {
  due = 0;
  readonly #res: HttpAnswer;
  readonly #streams: EventStreams;
  readonly #event: string | undefined;
  readonly #headers: ResponseHeaders | undefined;
  #delivery: Delivery | undefined;
  /** Nothing was written yet, not even the headers. */
  #silent = true;

  constructor(res: HttpAnswer, streams: EventStreams, options: SseOptions = {}) {
    super(streams.limits, streams.notes, options.held === true);
    this.#res = res;
    this.#streams = streams;
    this.#event = options.event;
    this.#headers = options.headers;
    res.whenGone(() => this.#gone());
    if (options.held !== true) this.#begin();
  }

  /** Sends the headers now, even without an event: proxies wait for them. */
  flush(): void {
    if (this.#silent && !this.closed && !this.#res.writableEnded) this.#res.flushHeaders();
  }

  /** Starts a held stream: its first event is sent before everything queued. */
  open(first: Uint8Array): void {
    if (this.closed) return;
    this.#begin();
    if (this.write(first)) this.release();
  }

  /** The stream was silent for `keepAliveMs`. */
  expire(): void {
    if (this.closed || this.#res.writableEnded) return;
    this.#streams.keepAlive.add(this);
    this.writeAside(heartbeat);
  }

  protected encode(event: StreamEvent): Uint8Array {
    // A priming event for resumption has an id and no message, so it does not get the name of a message.
    const isMessage = event.data.byteLength > 0;
    const name = isMessage ? this.#event : undefined;
    return encodeEvent({
      data: event.data,
      ...(event.id === undefined ? undefined : { id: event.id }),
      ...(name === undefined ? undefined : { event: name }),
    });
  }

  protected write(bytes: Uint8Array): boolean {
    this.#silent = false;
    this.#streams.keepAlive.add(this);
    if (bytes.byteLength > PIECE_BYTES) return this.#slow().write(bytes);
    if (this.#res.write(bytes)) return true;
    this.#slow().blocked();
    return false;
  }

  protected goodbye(retryMs: number | undefined): Uint8Array | undefined {
    return retryMs === undefined ? undefined : encodeEvent({ retry: Math.max(0, Math.round(retryMs)) });
  }

  protected finish(): void {
    this.#streams.keepAlive.remove(this);
    this.#res.end();
    if (this.#res.writableLength > 0) this.#slow().watch();
  }

  protected override waiting(bytes: number): void {
    this.#delivery?.count(bytes);
  }

  /** Created when the reader is slow for the first time: most never are. */
  #slow(): Delivery {
    this.#delivery ??= new Delivery(this.#res, this.#streams.deliveries, () => this.release());
    return this.#delivery;
  }

  protected destroy(): void {
    this.#res.destroy();
  }

  #begin(): void {
    if (this.closed) return;
    beginStream(this.#res, this.#headers);
    this.#streams.keepAlive.add(this);
  }

  #gone(): void {
    this.#streams.keepAlive.remove(this);
    this.close();
  }
}
