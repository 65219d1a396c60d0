/** An HTTP response that is an event stream. */
import type { StreamEvent } from '../exchange/outlet.ts';
import type { Sweepable } from '../exchange/sweep.ts';
import { comment, encodeEvent } from '../wire/sse.ts';
import { Delivery, PIECE_BYTES } from './delivery.ts';
import { Outbox } from './outbox.ts';
import { beginStream, type GoneWatcher, type HttpAnswer, type ResponseHeaders } from './respond.ts';

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

export class SseConnection extends Outbox implements Sweepable, GoneWatcher {
  due = 0;
  readonly #res: HttpAnswer;
  readonly #event: string | undefined;
  readonly #headers: ResponseHeaders | undefined;
  #delivery: Delivery | undefined;
  /** Nothing was written yet, not even the headers. */
  #silent = true;

  constructor(res: HttpAnswer, options: SseOptions = {}) {
    super(res.shared.limits, res.shared.notes, options.held === true);
    this.#res = res;
    this.#event = options.event;
    this.#headers = options.headers;
    res.whenGone(this);
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
    this.#res.shared.keepAlive.add(this);
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
    this.#res.shared.keepAlive.add(this);
    if (bytes.byteLength > PIECE_BYTES) return this.#slow().write(bytes);
    if (this.#res.write(bytes)) return true;
    this.#slow().blocked();
    return false;
  }

  protected goodbye(retryMs: number | undefined): Uint8Array | undefined {
    return retryMs === undefined ? undefined : encodeEvent({ retry: Math.max(0, Math.round(retryMs)) });
  }

  protected finish(): void {
    this.#res.shared.keepAlive.remove(this);
    this.#res.end();
    if (this.#res.writableLength > 0) this.#slow().watch();
  }

  protected override waiting(bytes: number): void {
    this.#delivery?.count(bytes);
  }

  /** Created when the reader is slow for the first time: most never are. */
  #slow(): Delivery {
    this.#delivery ??= new Delivery(this.#res, () => this.release());
    return this.#delivery;
  }

  protected destroy(): void {
    this.#res.destroy();
  }

  #begin(): void {
    if (this.closed) return;
    beginStream(this.#res, this.#headers);
    this.#res.shared.keepAlive.add(this);
  }

  gone(): void {
    this.#res.shared.keepAlive.remove(this);
    this.close();
  }
}
