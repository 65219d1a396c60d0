/**
 * A channel over Streamable HTTP, for both eras: the adapters supply the headers that differ. It is light: connections
 * belong to the backend, and a channel is what one session, or the modern era, uses of them.
 */
import type { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import { methodRow } from '../../wire/methods.ts';
import type {
  Channel,
  ChannelNotes,
  ChannelSink,
  Outgoing,
  Pending,
  RequestSink,
  StandaloneListener,
} from '../channel.ts';
import type { FloodBudget } from '../flood-meter.ts';
import { type HearVia, type HttpChannelLimits, wayClosed } from './context.ts';
import { type HeaderRecord, RequestHeaders } from './headers.ts';
import { OneWayPosts } from './one-way-post.ts';
import type { CallPool, CallPools } from './pool.ts';
import { HttpRequest, type HttpRequestParts } from './request.ts';
import { StandaloneStream } from './standalone-stream.ts';

/** Accepting a notification needs no work; a backend that takes longer is stuck. */
export const HANDOVER_MS = 10_000;

export interface HttpChannelOptions {
  readonly url: URL;
  /** Shared with other channels to the same backend; closing a channel leaves them open. */
  readonly pools: CallPools;
  /**
   * Configured headers and credentials. Return the same object while they are unchanged: derived headers are cached by
   * it.
   */
  headers(): HeaderRecord;
  /** Whether a cut stream may be resumed: the legacy revisions can, the modern one cannot. */
  readonly resumable: boolean;
  readonly limits: HttpChannelLimits;
  /** Shared with other channels to the same backend. */
  readonly flood: FloodBudget;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** From 0 up to 1, for jitter. */
  random(): number;
  readonly sink: ChannelSink;
  readonly notes: ChannelNotes;
  readonly told?: HearVia;
}

export class HttpChannel implements Channel {
  readonly streamPerRequest = true;
  readonly #pools: CallPools;
  readonly #sink: ChannelSink;
  readonly #context: HttpRequestParts;
  readonly #requests = new Set<HttpRequest>();
  readonly #handovers: OneWayPosts;
  #standing: StandaloneStream | undefined;
  #closed = false;

  constructor(options: HttpChannelOptions) {
    const { url, pools, resumable, limits, flood, clock, notes, sink } = options;
    this.#pools = pools;
    this.#handovers = new OneWayPosts(pools.handovers, limits, clock);
    this.#sink = sink;
    this.#context = {
      path: `${url.pathname}${url.search}`,
      headers: new RequestHeaders(() => options.headers()),
      resumable,
      limits,
      flood,
      clock,
      notes,
      told: options.told,
      random: () => options.random(),
      over: (request) => this.#requests.delete(request),
      reached: () => this.#standing?.reached(),
    };
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    const request = new HttpRequest(this.#context, this.#poolFor(outgoing), outgoing, sink);
    this.#requests.add(request);
    if (this.#closed) queueMicrotask(() => request.lose(wayClosed()));
    else request.start();
    return request;
  }

  post(message: Uint8Array, headers: HeaderRecord): Promise<void> {
    return this.#handOver('POST', this.#context.headers.post(headers), message);
  }

  async listen(headers: HeaderRecord, listener: StandaloneListener): Promise<void> {
    if (this.#closed || this.#standing?.isOver === false) return;
    const sink: ChannelSink = {
      stray: (message) => this.#sink.stray(message),
      lost: (failure) => this.#onLost(failure),
    };
    const standing = new StandaloneStream(this.#context, this.#pools.streams, headers, sink, listener);
    this.#standing = standing;
    standing.open();
    await standing.answered;
  }

  async forget(headers: HeaderRecord): Promise<void> {
    try {
      await this.#handOver('DELETE', this.#context.headers.get(headers), null);
    } catch {
      // 405 is allowed, 404 means that the session is gone, and anything else is for the backend to clean up.
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#standing?.close();
    for (const request of [...this.#requests]) request.lose(wayClosed());
    this.#handovers.close(wayClosed());
  }

  /** The mirrored method header tells which requests are long-lived. */
  #poolFor(outgoing: Outgoing): CallPool {
    const method = outgoing.headers['mcp-method'];
    const isLong = method !== undefined && methodRow(method)?.longLived === true;
    return isLong ? this.#pools.streams : this.#pools.calls;
  }

  async #handOver(method: 'POST' | 'DELETE', headers: string[], body: Uint8Array | null): Promise<void> {
    if (this.#closed) throw wayClosed();
    await this.#handovers.send({ method, path: this.#context.path, headers, body });
  }

  /** The session is gone: everything in flight in it fails. */
  #onLost(failure: Failure): void {
    if (this.#closed) return;
    for (const request of [...this.#requests]) request.lose(failure);
    this.#sink.lost(failure);
  }
}
