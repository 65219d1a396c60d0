/** An HTTP response that carries events. */
import type { StreamEvent } from '../exchange/outlet.ts';
import { comment, encodeEvent } from '../wire/sse.ts';
import type { HttpAnswer } from './answer.ts';
import { type Deliveries, Delivery, PIECE_BYTES } from './delivery.ts';
import type { IngressNotes } from './notes.ts';
import { Outbox, type OutboxLimits } from './outbox.ts';
import { beginStream, type ResponseHeaders } from './respond.ts';
import type { Sweep, Sweepable } from './sweep.ts';

/** What all streams of a server share. */
export interface EventStreams {
  readonly limits: OutboxLimits & { readonly keepAliveMs: number };
  readonly notes: IngressNotes;
  /** Wakes streams that have been silent for `keepAliveMs`. */
  readonly keepAlive: Sweep;
  readonly deliveries: Deliveries;
}

const heartbeat = comment();

export interface SseOptions {
  /** Headers of the response beside those of every stream. */
  readonly headers?: ResponseHeaders;
  /** What every event is called. 2024-11-05 names its messages; later revisions leave it to the default, which is the same. */
  readonly event?: string;
  /** Nothing goes out, headers included, before `open`. */
  readonly held?: boolean;
}

export class SseConnection extends Outbox implements Sweepable {
  due = 0;
  readonly #res: HttpAnswer;
  readonly #streams: EventStreams;
  readonly #event: string | undefined;
  readonly #headers: ResponseHeaders | undefined;
  #delivery: Delivery | undefined;
  /** Nothing was written yet, so the headers wait too. */
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

  /** The headers go out now, alone if there is nothing else to say: proxies wait for them. */
  flush(): void {
    if (this.#silent && !this.closed && !this.#res.writableEnded) this.#res.flushHeaders();
  }

  /** Lets a held stream go, with its first event before everything that waits. */
  open(first: Uint8Array): void {
    if (this.closed) return;
    this.#begin();
    if (this.write(first)) this.release();
  }

  /** Nothing was said for a while. */
  expire(): void {
    if (this.closed || this.#res.writableEnded) return;
    this.#streams.keepAlive.add(this);
    this.writeAside(heartbeat);
  }

  protected encode(event: StreamEvent): Uint8Array {
    // An event that primes for resumption has an id and no message; it is not called one.
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

  /** Made when the reader is slow for the first time: most never are. */
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
