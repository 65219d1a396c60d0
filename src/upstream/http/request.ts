/**
 * One request: a POST whose response is JSON or an event stream, and, where the revision has event ids, the GETs that
 * resume a cut stream. Settles once, whatever the backend does.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { Failure, failures } from '../../errors/failure.ts';
import type { Message } from '../../wire/message.ts';
import { VIA } from '../../wire/via.ts';
import type { HttpFacts, Outgoing, Pending, Reception, RequestSink } from '../channel.ts';
import { excerpt, readIncoming } from '../incoming.ts';
import { BoundedBody } from './body.ts';
import { closedByUs, type HttpContext } from './context.ts';
import { EventFlow } from './flow.ts';
import { mediaType, namesSession, singleHeader } from './headers.ts';
import type { CallPool } from './pool.ts';
import { Reconnects } from './reconnects.ts';
import { failureOfError, failureOfStatus, isPassing } from './verdict.ts';

/** What all requests of a channel share. */
export interface HttpRequestParts extends HttpContext {
  /** The request is settled and its connection released. */
  over(request: HttpRequest): void;
  /** The backend answered a request. */
  reached(): void;
}

/** Most servers end a stream right after the response. If one does not within this time, the connection is closed. */
const LINGER_MS = 1_000;
const ENDED = 'Backend unavailable: its stream ended without an answer';
/** How much of an unwanted body is read in order to keep the connection. */
const REST_BYTES = 64 * 1024;

/** `away`: between two connections of one stream. `rest`: settled, while the connection is drained. */
type RequestPhase = 'head' | 'body' | 'stream' | 'away' | 'rest' | 'over';

function invalid(why: string, cause?: unknown): Failure {
  return new Failure('backend_invalid', {
    message: `${failures.backend_invalid.message}: ${why}`,
    cause,
    cure: 'check `url`: what answers there may be no MCP server',
  });
}

export class HttpRequest implements Pending, Dispatcher.DispatchHandler {
  readonly #context: HttpRequestParts;
  readonly #pool: CallPool;
  readonly #outgoing: Outgoing;
  readonly #sink: RequestSink;
  #phase: RequestPhase = 'head';
  #settled = false;
  #isDispatching = false;
  #isConnected = false;
  #controller: Dispatcher.DispatchController | undefined;
  #facts: HttpFacts | undefined;
  #body: BoundedBody | undefined;
  #flow: EventFlow | undefined;
  #reconnects: Reconnects | undefined;
  /** Whether a readable message came on the stream. */
  #heard = false;
  #restBytes = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(context: HttpRequestParts, pool: CallPool, outgoing: Outgoing, sink: RequestSink) {
    this.#context = context;
    this.#pool = pool;
    this.#outgoing = outgoing;
    this.#sink = sink;
  }

  start(): void {
    const { path, headers } = this.#context;
    const { bytes, headers: own } = this.#outgoing;
    this.#dispatch({ method: 'POST', path, headers: headers.post(own), body: bytes });
  }

  abort(): void {
    this.#settled = true;
    this.#disconnect();
    this.#finish();
  }

  /** Fails the request, unless it is settled, and releases everything. */
  lose(failure: Failure): void {
    this.#fail(failure);
    this.#disconnect();
    this.#finish();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#phase === 'over') controller.abort(closedByUs);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#phase !== 'head') return;
    if (this.#flow !== undefined) {
      this.#onResumed(controller, status, headers, this.#flow);
      return;
    }
    this.#facts = { status, sessionId: singleHeader(headers, 'mcp-session-id') };
    const via = singleHeader(headers, VIA);
    if (via !== undefined) this.#context.told?.(via);
    const type = mediaType(headers);
    if (status >= 300) {
      if (type === 'json') this.#gather(headers);
      else this.#fail(failureOfStatus(status, namesSession(this.#outgoing.headers)));
    } else if (status === 202 || status === 204 || status === 205 || type === 'other') {
      // These responses may accept a notification, or come from no MCP server; they cannot answer a request.
      this.#fail(invalid(type === 'other' ? `HTTP ${status} with neither JSON nor events` : `HTTP ${status}, empty`));
    } else if (type === 'sse') {
      this.#flow = this.#openFlow();
      this.#flow.opened(controller);
      this.#phase = 'stream';
      this.#sink.alive();
    } else this.#gather(headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'body') {
      this.#sink.alive();
      if (this.#body?.add(chunk) === false) this.#failNow(new Failure('backend_too_large'));
    } else if (this.#phase === 'stream') {
      if (!this.#settled) this.#sink.alive();
      this.#flow?.push(chunk);
    } else if (this.#phase === 'rest') {
      this.#restBytes += chunk.byteLength;
      if (this.#restBytes > REST_BYTES) this.#disconnect();
    }
  }

  onResponseEnd(): void {
    this.#disconnected();
    if (this.#phase === 'body') this.#onBody();
    else if (this.#phase === 'stream' && !this.#settled) this.#onStreamEnd(undefined);
    else this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#disconnected();
    if (this.#settled) this.#finish();
    else if (this.#isDispatching) queueMicrotask(() => this.#fail(failureOfError(error)));
    else if (this.#flow !== undefined) this.#onStreamEnd(error);
    else this.#fail(failureOfError(error));
  }

  #dispatch(options: Dispatcher.DispatchOptions): void {
    this.#isDispatching = true;
    this.#isConnected = true;
    try {
      this.#pool.dispatch(options, this);
    } catch (cause) {
      this.#isConnected = false;
      // Only after the caller has its Pending.
      queueMicrotask(() => this.#fail(failureOfError(cause)));
    }
    this.#isDispatching = false;
  }

  /**
   * Runs at most once per connection: undici reports an exception in `onResponseEnd` as an error of the same response.
   */
  #disconnected(): void {
    this.#controller = undefined;
    this.#flow?.closed();
    if (!this.#isConnected) return;
    this.#isConnected = false;
    this.#pool.done();
  }

  #gather(headers: IncomingHttpHeaders): void {
    const { resultBytes } = this.#context.limits;
    const announced = Number(headers['content-length'] ?? Number.NaN);
    if (announced > resultBytes) {
      this.#failNow(new Failure('backend_too_large'));
      return;
    }
    this.#body = new BoundedBody(resultBytes, announced);
    this.#phase = 'body';
  }

  #onBody(): void {
    const bytes = this.#body?.take() ?? new Uint8Array();
    const status = this.#facts?.status ?? 0;
    let messages: readonly Message[] = [];
    let cause: unknown = 'no answer in the body';
    try {
      messages = readIncoming(bytes);
    } catch (unreadable) {
      cause = unreadable;
    }
    for (const message of messages) this.#deliver(message);
    if (this.#settled) this.#finish();
    else if (status < 300) this.#fail(invalid('no JSON-RPC response in the body', cause));
    else this.#fail(failureOfStatus(status, namesSession(this.#outgoing.headers)));
  }

  #openFlow(): EventFlow {
    return new EventFlow(this.#context, 'the stream of a request', {
      message: (message) => {
        this.#heard = true;
        this.#reconnects?.progress();
        return this.#deliver(message);
      },
      broken: (failure) => this.#failNow(failure),
      flooded: (failure) => this.#failNow(failure),
    });
  }

  #deliver(message: Message): Reception {
    const isResponse = message.kind === 'result' || message.kind === 'error';
    if (this.#settled || (isResponse && message.id !== undefined && message.id.key !== this.#outgoing.id)) {
      if (this.#phase !== 'over') this.#context.notes.noise('unknown_id', excerpt(message.bytes));
      return 'none';
    }
    if (!isResponse) return this.#sink.message(message);
    // An error without an id settles the POST that it answers.
    this.#settled = true;
    if (this.#phase === 'stream') this.#linger();
    this.#context.reached();
    this.#sink.answered(message, this.#facts);
    return 'answer';
  }

  /** The stream ended, or was cut, without a response. */
  #onStreamEnd(cause: Error | undefined): void {
    const { resumable, limits, clock, random } = this.#context;
    const flow = this.#flow;
    if (!resumable || flow?.lastEventId === undefined) {
      if (cause !== undefined) this.#fail(failureOfError(cause));
      else if (this.#heard) this.#fail(new Failure('backend_unavailable', { message: ENDED }));
      else this.#fail(invalid('the stream ended without a message'));
      return;
    }
    this.#reconnects ??= new Reconnects(limits, random);
    const waitMs = this.#reconnects.next(flow.retryMs);
    if (waitMs === undefined) {
      const message = `${ENDED}, and cannot be resumed (\`limits.reconnects\`)`;
      this.#fail(new Failure('backend_unavailable', { message, cause }));
      return;
    }
    this.#phase = 'away';
    this.#cancelTimer = clock.after(waitMs, () => this.#resume(flow));
    if (cause === undefined) this.#sink.paused(flow.retryMs);
  }

  #resume(flow: EventFlow): void {
    const { path, headers } = this.#context;
    this.#phase = 'head';
    this.#dispatch({ method: 'GET', path, headers: headers.get(this.#outgoing.headers, flow.lastEventId) });
  }

  #onResumed(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    flow: EventFlow,
  ): void {
    if (status === 200 && mediaType(headers) === 'sse') {
      flow.opened(controller);
      this.#phase = 'stream';
    } else if (isPassing(status)) controller.abort(new Error(`HTTP status ${status}`));
    else if (status === 404) this.#fail(new Failure('backend_session_lost'));
    else this.#fail(new Failure('backend_unavailable', { message: `${ENDED}; resuming it got HTTP ${status}` }));
  }

  #fail(failure: Failure): void {
    if (this.#settled) return;
    this.#settled = true;
    if (this.#controller === undefined) this.#finish();
    else {
      this.#phase = 'rest';
      this.#flow?.stop();
      this.#linger();
    }
    this.#sink.failed(failure, this.#facts);
  }

  #failNow(failure: Failure): void {
    this.#fail(failure);
    this.#disconnect();
  }

  #linger(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#context.clock.after(LINGER_MS, () => this.#disconnect());
  }

  #disconnect(): void {
    this.#flow?.stop();
    this.#controller?.abort(closedByUs);
  }

  #finish(): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#cancelTimer?.();
    this.#flow?.stop();
    this.#context.over(this);
  }
}
