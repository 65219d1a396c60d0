/**
 * A channel over HTTP+SSE, the transport of 2024-11-05. One stream carries everything from the backend. Every message
 * of ours is a POST, whose response only confirms that it was accepted. The stream is the session.
 */
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { Message } from '../../wire/message.ts';
import type { Channel, ChannelNotes, ChannelSink, Outgoing, Pending, Reception, RequestSink } from '../channel.ts';
import { Correlation } from '../correlation.ts';
import type { FloodBudget } from '../flood-meter.ts';
import { type HearVia, wayClosed } from './context.ts';
import { type HeaderRecord, RequestHeaders } from './headers.ts';
import { type HandoverOptions, OneWayPosts } from './one-way-post.ts';
import type { CallPools } from './pool.ts';
import { PostedRequest } from './sse-request.ts';
import { SessionStream } from './sse-stream.ts';

export interface SseChannelLimits {
  /** Limit of one event. */
  readonly resultBytes: number;
  /** Until the backend accepts a message that is no request, or a request whose response has already arrived. */
  readonly handoverMs: number;
  /** Until the stream names the address for messages. */
  readonly endpointMs: number;
}

export interface SseChannelOptions {
  readonly url: URL;
  /** Shared with other channels to the same backend; closing a channel leaves them open. */
  readonly pools: CallPools;
  /**
   * Configured headers and credentials. Return the same object while they are unchanged: derived headers are cached by
   * it.
   */
  headers(): HeaderRecord;
  readonly limits: SseChannelLimits;
  /** Shared with other channels to the same backend. */
  readonly flood: FloodBudget;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly sink: ChannelSink;
  readonly notes: ChannelNotes;
  readonly told?: HearVia;
}

/** The longest request line that common servers read. */
const ADDRESS_CHARACTERS = 8 * 1024;

interface SseOpening {
  done(): void;
  failed(failure: Failure): void;
}

export class SseChannel implements Channel {
  readonly streamPerRequest = false;
  readonly #options: SseChannelOptions;
  readonly #headers: RequestHeaders;
  readonly #stream: SessionStream;
  readonly #waiting: Correlation;
  readonly #handovers: OneWayPosts;
  #opening: SseOpening | undefined;
  /** The path for messages. */
  #path = '';
  /** Why nothing can be sent any more. */
  #over: Failure | undefined;

  /** Resolves when the session is open. Rejects with a Failure, and leaves nothing open then. */
  static async open(options: SseChannelOptions): Promise<SseChannel> {
    const channel = new SseChannel(options);
    await channel.#open();
    return channel;
  }

  private constructor(options: SseChannelOptions) {
    const { url, pools, limits, flood, clock, notes } = options;
    this.#options = options;
    this.#headers = new RequestHeaders(() => options.headers());
    this.#waiting = new Correlation(notes);
    this.#handovers = new OneWayPosts(pools.handovers, limits, clock);
    const context = { path: pathOf(url), headers: this.#headers, limits, flood, clock, notes, told: options.told };
    this.#stream = new SessionStream(context, pools.streams, {
      named: (address) => this.#onNamed(address),
      message: (message) => this.#onMessage(message),
      ended: (failure) => this.#onEnded(failure),
    });
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    const { pools, limits, clock } = this.#options;
    const request = new PostedRequest(sink, limits, clock);
    const waiting = this.#waiting.add(outgoing.id, request);
    const over = this.#over;
    if (over !== undefined) queueMicrotask(() => waiting.fail(over));
    else request.begin(waiting, this.#handovers.begin(pools.calls, this.#message(outgoing.bytes, outgoing.headers)));
    return request;
  }

  async post(message: Uint8Array, headers: HeaderRecord): Promise<void> {
    if (this.#over !== undefined) throw this.#over;
    await this.#handovers.send(this.#message(message, headers));
  }

  async listen(): Promise<void> {
    // The one stream carries everything anyway.
  }

  async forget(): Promise<void> {
    // The stream is the session: it ends with `close`.
  }

  async close(): Promise<void> {
    this.#stream.close();
    this.#end(wayClosed());
  }

  #open(): Promise<void> {
    const { clock, limits } = this.#options;
    return new Promise((resolve, reject) => {
      const cancelTimer = clock.after(limits.endpointMs, () => {
        this.#stream.close();
        reject(new Failure('backend_timeout', { message: 'The backend did not say where messages go to' }));
      });
      this.#opening = {
        done: () => {
          cancelTimer();
          resolve();
        },
        failed: (failure) => {
          cancelTimer();
          reject(failure);
        },
      };
      this.#stream.open();
    });
  }

  #message(body: Uint8Array, headers: HeaderRecord): HandoverOptions {
    return { method: 'POST', path: this.#path, headers: this.#headers.post(headers), body };
  }

  #onNamed(address: string): void {
    this.#path = pathOf(addressAt(address, this.#options.url));
    this.#opening?.done();
    this.#opening = undefined;
  }

  #onMessage(message: Message): Reception {
    if (message.kind === 'result' || message.kind === 'error') return this.#waiting.answer(message);
    return this.#waiting.received(message, this.#options.sink.stray(message));
  }

  #onEnded(failure: Failure): void {
    this.#end(failure);
    if (this.#opening === undefined) this.#options.sink.lost(failure);
    else this.#opening.failed(failure);
  }

  #end(failure: Failure): void {
    this.#over ??= failure;
    this.#waiting.failAll(failure);
    this.#handovers.close(failure);
  }
}

/**
 * A different origin is refused, as in the official clients: it would get the credentials and messages meant for this
 * one.
 */
function addressAt(address: string, url: URL): URL {
  if (address === '' || address.length > ADDRESS_CHARACTERS || !URL.canParse(address, url.href)) {
    throw new Failure('backend_invalid', { message: 'The backend gave no readable address for messages' });
  }
  const resolved = new URL(address, url);
  if (resolved.origin === url.origin) return resolved;
  throw new Failure('backend_invalid', {
    message: 'The backend wants messages to be sent to another origin',
    cause: new Error(resolved.origin),
  });
}

function pathOf({ pathname, search }: URL): string {
  return `${pathname}${search}`;
}
