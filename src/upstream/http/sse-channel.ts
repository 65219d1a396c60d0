/**
 * A channel over HTTP+SSE, the transport of 2024-11-05. One stream carries everything from the backend. Every message
 * of ours is a POST, whose response only confirms that it was accepted. The stream is the session.
 */
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import { within } from '../../exchange/within.ts';
import type { Response } from '../../wire/message.ts';
import type { Channel, ChannelSink, HttpFacts, Outgoing, Pending, RequestSink } from '../channel.ts';
import { type AnswerSink, type AwaitedAnswer, Correlation } from '../correlation.ts';
import { type HttpChannelLimits, type HttpTransportOptions, pathOf, wayClosed } from './context.ts';
import { type HeaderRecord, RequestHeaders } from './headers.ts';
import { type OneWayOptions, type OneWayPost, OneWayPosts } from './one-way-post.ts';
import { SessionStream } from './sse-stream.ts';

/** `oneWayMs` also limits the POST of a request whose response has already arrived. */
export interface SseChannelLimits extends Omit<HttpChannelLimits, 'reconnects'> {
  /** Until the stream names the address for messages. */
  readonly endpointMs: number;
}

export interface SseChannelOptions extends HttpTransportOptions {
  readonly limits: SseChannelLimits;
  readonly sink: ChannelSink;
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
  readonly #oneWayPosts: OneWayPosts;
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
    const { url, pools, limits, clock, notes } = options;
    this.#options = options;
    this.#headers = new RequestHeaders(options.headers);
    this.#waiting = new Correlation(notes);
    this.#oneWayPosts = new OneWayPosts(pools.oneWay, limits, clock);
    const context = { ...options, path: pathOf(url), headers: this.#headers };
    this.#stream = new SessionStream(context, pools.streams, {
      named: (address) => this.#onNamed(address),
      message: (message) => this.#waiting.receive(message, options.sink),
      unreadable: (data) => this.#waiting.unreadable(data),
      ended: (failure) => this.#onEnded(failure),
    });
  }

  request(outgoing: Outgoing, sink: RequestSink): Pending {
    const { pools, limits, clock } = this.#options;
    const request = new PostedRequest(sink, limits, clock);
    const waiting = this.#waiting.add(outgoing.id, request);
    const over = this.#over;
    if (over !== undefined) queueMicrotask(() => waiting.fail(over));
    else request.begin(waiting, this.#oneWayPosts.begin(pools.calls, this.#message(outgoing.bytes, outgoing.headers)));
    return request;
  }

  async post(message: Uint8Array, headers: HeaderRecord): Promise<void> {
    if (this.#over !== undefined) throw this.#over;
    await this.#oneWayPosts.send(this.#message(message, headers));
  }

  async close(): Promise<void> {
    this.#stream.close();
    this.#end(wayClosed());
  }

  #open(): Promise<void> {
    const { clock, limits } = this.#options;
    const opened = new Promise<void>((done, failed) => {
      this.#opening = { done, failed };
    });
    this.#stream.open();
    return within(clock, limits.endpointMs, opened, () => {
      this.#stream.close();
      throw new Failure('backend_timeout', { message: 'The backend did not send the address for messages' });
    });
  }

  #message(body: Uint8Array, headers: HeaderRecord): OneWayOptions {
    return { method: 'POST', path: this.#path, headers: this.#headers.post(headers), body };
  }

  #onNamed(address: string): void {
    this.#path = pathOf(addressAt(address, this.#options.url));
    this.#opening?.done();
    this.#opening = undefined;
  }

  #onEnded(failure: Failure): void {
    this.#end(failure);
    if (this.#opening === undefined) this.#options.sink.lost(failure);
    else this.#opening.failed(failure);
  }

  #end(failure: Failure): void {
    this.#over ??= failure;
    this.#waiting.failAll(failure);
    this.#oneWayPosts.close(failure);
  }
}

/** A request: sent by a POST, and answered on the stream of the session. */
class PostedRequest implements Pending, AnswerSink {
  readonly #sink: AnswerSink;
  readonly #oneWayMs: number;
  readonly #clock: Pick<Clock, 'after'>;
  #waiting: AwaitedAnswer | undefined;
  /** Set until the POST is answered. */
  #post: OneWayPost | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(sink: AnswerSink, limits: { readonly oneWayMs: number }, clock: Pick<Clock, 'after'>) {
    this.#sink = sink;
    this.#oneWayMs = limits.oneWayMs;
    this.#clock = clock;
  }

  /**
   * The POST has no time limit here, but that of its call: some servers accept a request only when they are done with
   * it.
   */
  begin(waiting: AwaitedAnswer, post: OneWayPost): void {
    this.#waiting = waiting;
    this.#post = post;
    post.taken.then(
      () => this.#postEnded(),
      (failure: Failure) => {
        this.#postEnded();
        const { status } = post;
        waiting.fail(failure, status === undefined ? undefined : { status, sessionId: undefined });
      },
    );
  }

  abort(): void {
    this.#waiting?.abort();
    this.#drop();
  }

  /**
   * The response can come before that to the POST. The POST then gets `oneWayMs` to complete, so that the connection
   * can be kept.
   */
  answered(message: Response, http: HttpFacts | undefined): void {
    if (this.#post !== undefined) this.#cancelTimer = this.#clock.after(this.#oneWayMs, () => this.#drop());
    this.#sink.answered(message, http);
  }

  failed(failure: Failure, http: HttpFacts | undefined): void {
    this.#drop();
    this.#sink.failed(failure, http);
  }

  #postEnded(): void {
    this.#post = undefined;
    this.#cancelTimer?.();
  }

  #drop(): void {
    this.#post?.abort(wayClosed());
  }
}

/**
 * A different origin is refused, as in the official clients: it would get the credentials and messages meant for this
 * one.
 */
function addressAt(address: string, url: URL): URL {
  if (address === '' || address.length > ADDRESS_CHARACTERS || !URL.canParse(address, url.href)) {
    throw new Failure('backend_invalid', { message: 'The backend sent an invalid address for messages' });
  }
  const resolved = new URL(address, url);
  if (resolved.origin === url.origin) return resolved;
  throw new Failure('backend_invalid', {
    message: 'The backend sent an address for messages of another origin',
    cause: new Error(resolved.origin),
  });
}
