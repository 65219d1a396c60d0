/**
 * A channel over Streamable HTTP, for both eras: the adapters supply the headers that differ. It is light: connections
 * belong to the backend, and a channel is what one session, or the modern era, uses of them.
 */
import type { Failure } from '../../errors/failure.ts';
import { LinkedList } from '../../exchange/linked-list.ts';
import type { Notification, Request } from '../../wire/message.ts';
import type { Channel, ChannelSink, Outgoing, Pending, RequestSink, StandaloneListener } from '../channel.ts';
import type { Reception } from '../reception.ts';
import { type HttpContext, wayClosed } from './context.ts';
import type { HeaderRecord } from './headers.ts';
import { OneWayPosts } from './one-way-post.ts';
import { HttpRequest } from './request.ts';
import { StandaloneStream } from './standalone-stream.ts';

/** Accepting a notification needs no work; a backend that takes longer is stuck. */
export const ONE_WAY_MS = 10_000;

export class HttpChannel implements Channel, ChannelSink {
  readonly streamPerRequest = true;
  readonly context: HttpContext;
  /** The requests in flight. */
  readonly requests = new LinkedList<HttpRequest>();
  /** Undefined where it was never asked for, as in the modern era. */
  standing: StandaloneStream | undefined = undefined;
  readonly #sink: ChannelSink;
  readonly #oneWayPosts: OneWayPosts;
  #closed = false;

  constructor(context: HttpContext, sink: ChannelSink) {
    const { pools, limits, clock } = context;
    this.context = context;
    this.#sink = sink;
    this.#oneWayPosts = new OneWayPosts(pools.oneWay, limits, clock);
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    const { calls, streams } = this.context.pools;
    const request = new HttpRequest(this, outgoing.longLived === true ? streams : calls, outgoing, sink);
    this.requests.add(request);
    if (this.#closed) queueMicrotask(() => request.lose(wayClosed()));
    else request.start();
    return request;
  }

  post(message: Uint8Array, headers: HeaderRecord): Promise<void> {
    return this.#sendOneWay('POST', this.context.headers.post(headers), message);
  }

  async listen(headers: HeaderRecord, listener: StandaloneListener): Promise<void> {
    if (this.#closed || this.standing?.isOver === false) return;
    const standing = new StandaloneStream(this.context, headers, this, listener);
    this.standing = standing;
    standing.open();
    await standing.answered;
  }

  async forget(headers: HeaderRecord): Promise<void> {
    try {
      await this.#sendOneWay('DELETE', this.context.headers.get(headers), null);
    } catch {
      // 405 is allowed, 404 means that the session is gone, and anything else is for the backend to clean up.
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.standing?.close();
    for (const request of this.requests.members()) request.lose(wayClosed());
    this.#oneWayPosts.close(wayClosed());
  }

  async #sendOneWay(method: 'POST' | 'DELETE', headers: string[], body: Uint8Array | null): Promise<void> {
    if (this.#closed) throw wayClosed();
    await this.#oneWayPosts.send({ method, path: this.context.path, headers, body });
  }

  /** A message on the standalone stream. */
  stray(message: Notification | Request): Reception {
    return this.#sink.stray(message);
  }

  /** The session is gone: everything in flight in it fails. */
  lost(failure: Failure): void {
    if (this.#closed) return;
    for (const request of this.requests.members()) request.lose(failure);
    this.#sink.lost(failure);
  }
}
