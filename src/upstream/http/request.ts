/**
 * One request: a POST whose response is JSON or an event stream, and, where the revision has event ids, the GETs that
 * resume a cut stream. Settles once, whatever the backend does.
 *
 *   head       The request is on its way; no response has begun.
 *   body       A JSON body arrives.
 *   stream     An event stream is open.
 *   away       Between two connections of one stream.
 *   answered   Settled. The stream may be open for a little longer.
 *   failed     Settled. The rest of the response is read, so that the connection can be kept.
 *   over       Settled, and nothing is open.
 *
 *   from       json   events   answer     failure   cut    resume   close
 *   head       body   stream   -          failed    away   -        over
 *   body       -      -        answered   failed    -      -        over
 *   stream     -      -        answered   failed    away   -        over
 *   away       -      -        -          failed    -      head     over
 *   answered   -      -        -          -         -      -        over
 *   failed     -      -        -          -         -      -        over
 *
 * What has no place in the table is ignored. A state that no failure leaves is settled.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Failure } from '../../errors/failure.ts';
import { skimBatch } from '../../wire/batch.ts';
import type { Message } from '../../wire/message.ts';
import { answerIdIn, skimMessage } from '../../wire/skim.ts';
import { VIA } from '../../wire/via.ts';
import type { HttpFacts, Outgoing, Pending, RequestSink } from '../channel.ts';
import { excerpt, unreadableAnswer } from '../incoming.ts';
import type { Reception } from '../reception.ts';
import { BoundedBody, LARGE_BODY } from './body.ts';
import type { HttpChannel } from './channel.ts';
import { EventFlow } from './flow.ts';
import { mediaType, namesSession, singleHeader } from './headers.ts';
import type { CallPool } from './pool.ts';
import { type Controller, PooledRequest } from './presented.ts';
import { Reconnects } from './reconnects.ts';
import { failureOfError, failureOfStatus, isPassing, noAnswer } from './verdict.ts';

type RequestState = 'head' | 'body' | 'stream' | 'away' | 'answered' | 'failed' | 'over';
type RequestEvent = 'json' | 'events' | 'answer' | 'failure' | 'cut' | 'resume' | 'close';

const transitions: Readonly<Record<RequestState, Readonly<Partial<Record<RequestEvent, RequestState>>>>> = {
  head: { json: 'body', events: 'stream', failure: 'failed', cut: 'away', close: 'over' },
  body: { answer: 'answered', failure: 'failed', close: 'over' },
  stream: { answer: 'answered', failure: 'failed', cut: 'away', close: 'over' },
  away: { failure: 'failed', resume: 'head', close: 'over' },
  answered: { close: 'over' },
  failed: { close: 'over' },
  over: {},
};

/** Most servers end a stream right after the response. If one does not within this time, the connection is closed. */
const LINGER_MS = 1_000;
const ENDED = 'Backend unavailable: its stream ended without a response';

export class HttpRequest extends PooledRequest implements Pending {
  readonly #channel: HttpChannel;
  readonly #outgoing: Outgoing;
  readonly #sink: RequestSink;
  #state: RequestState = 'head';
  #facts: HttpFacts | undefined = undefined;
  /** The whole body, in most cases. */
  #chunk: Buffer | undefined = undefined;
  /** Where the body is large or arrives in several chunks. */
  #body: BoundedBody | undefined = undefined;
  #flow: EventFlow | undefined = undefined;
  #reconnects: Reconnects | undefined = undefined;
  /** Whether a readable message came on the stream. */
  #heard = false;
  #cancelTimer: (() => void) | undefined = undefined;

  constructor(channel: HttpChannel, pool: CallPool, outgoing: Outgoing, sink: RequestSink) {
    super(pool);
    this.#channel = channel;
    this.#outgoing = outgoing;
    this.#sink = sink;
  }

  start(): void {
    const { path, headers } = this.#channel.context;
    const { bytes, headers: own } = this.#outgoing;
    this.dispatch({ method: 'POST', path, headers: headers.post(own), body: bytes });
  }

  abort(): void {
    this.#close();
    this.disconnect();
  }

  /** Fails the request, unless it is settled, and releases everything. */
  lose(failure: Failure): void {
    this.#fail(failure);
    this.#disconnect();
    this.#close();
  }

  get #isSettled(): boolean {
    return transitions[this.#state].failure === undefined;
  }

  /** False where the state has no such transition. */
  #step(event: RequestEvent): boolean {
    const next = transitions[this.#state][event];
    if (next === undefined) return false;
    this.#state = next;
    return true;
  }

  protected override responded(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (this.#state !== 'head') return;
    if (this.#flow !== undefined) {
      this.#onResumed(controller, status, headers, this.#flow);
      return;
    }
    this.#facts = { status, sessionId: singleHeader(headers, 'mcp-session-id') };
    const via = singleHeader(headers, VIA);
    if (via !== undefined) this.#channel.context.told?.(via);
    const type = mediaType(headers);
    const isEmpty = status === 202 || status === 204 || status === 205;
    if (status >= 300 && type !== 'json') this.#fail(failureOfStatus(status, namesSession(this.#outgoing.headers)));
    else if (status < 300 && (isEmpty || type === 'other')) {
      // These responses may accept a notification, or come from no MCP server; they cannot answer a request.
      this.#fail(noAnswer(type === 'other' ? `HTTP ${status} with neither JSON nor events` : `HTTP ${status}, empty`));
    } else if (type === 'sse') {
      this.#flow = this.#openFlow();
      this.#flow.opened(controller);
      this.#step('events');
      this.#sink.alive();
    } else {
      const announced = Number(headers['content-length'] ?? Number.NaN);
      const { resultBytes } = this.#channel.context.limits;
      this.#step('json');
      if (announced > resultBytes) this.#failNow(new Failure('backend_too_large'));
      else if (announced > LARGE_BODY) this.#body = new BoundedBody(resultBytes, announced);
    }
  }

  protected override received(chunk: Buffer): void {
    if (this.#state === 'body') {
      this.#sink.alive();
      const { resultBytes } = this.#channel.context.limits;
      if (this.#chunk === undefined && this.#body === undefined && chunk.byteLength <= resultBytes) this.#chunk = chunk;
      else this.#gather(chunk, resultBytes);
    } else if (this.#state === 'stream' || this.#state === 'answered') {
      if (this.#state === 'stream') this.#sink.alive();
      this.#flow?.push(chunk);
    } else if (this.#state === 'failed') this.discard(this.controller, chunk);
  }

  protected override ended(error: Error | undefined): void {
    this.#flow?.closed();
    if (this.#isSettled) this.#close();
    else if (error === undefined && this.#state === 'body') this.#onBody();
    else if (this.#flow !== undefined) this.#onStreamEnd(error);
    else this.#fail(failureOfError(error));
  }

  #gather(chunk: Buffer, resultBytes: number): void {
    const body = this.#body ?? new BoundedBody(resultBytes);
    this.#body = body;
    if (this.#chunk !== undefined) body.add(this.#chunk);
    this.#chunk = undefined;
    if (!body.add(chunk)) this.#failNow(new Failure('backend_too_large'));
  }

  #onBody(): void {
    let cause: unknown = 'no response in the body';
    let only: Message | undefined;
    let messages: readonly Message[] = [];
    try {
      const read = skimMessage(this.#chunk ?? this.#body?.take() ?? new Uint8Array());
      if (read.kind === 'batch') messages = skimBatch(read);
      else only = read;
    } catch (unreadable) {
      cause = unreadable;
    }
    if (only !== undefined) this.#deliver(only);
    for (const message of messages) this.#deliver(message);
    if (this.#isSettled) this.#close();
    else {
      const status = this.#facts?.status ?? 0;
      if (status < 300) this.#fail(noAnswer('no JSON-RPC response in the body', cause));
      else this.#fail(failureOfStatus(status, namesSession(this.#outgoing.headers)));
    }
  }

  #openFlow(): EventFlow {
    return new EventFlow(this.#channel.context, 'the stream of a request', {
      message: (message) => {
        this.#heard = true;
        this.#reconnects?.progress();
        return this.#deliver(message);
      },
      unreadable: (data) => {
        if (this.#isSettled || answerIdIn(data)?.key !== this.#outgoing.id) return 'none';
        this.#failNow(unreadableAnswer());
        return 'answer';
      },
      broken: (failure) => this.#failNow(failure),
      flooded: (failure) => this.#failNow(failure),
    });
  }

  #deliver(message: Message): Reception {
    const isResponse = message.kind === 'result' || message.kind === 'error';
    if (this.#isSettled || (isResponse && message.id !== undefined && message.id.key !== this.#outgoing.id)) {
      if (this.#state !== 'over') this.#channel.context.notes.noise('unknown_id', excerpt(message.bytes));
      return 'none';
    }
    if (!isResponse) return this.#sink.message(message);
    // An error without an id settles the POST that it answers.
    if (this.#state === 'stream') this.#linger();
    this.#step('answer');
    this.#channel.standing?.reached();
    this.#sink.answered(message, this.#facts);
    return 'answer';
  }

  /** The stream ended, or was cut, without a response. */
  #onStreamEnd(cause: Error | undefined): void {
    const { resumable, limits, clock, random } = this.#channel.context;
    const flow = this.#flow;
    if (!resumable || flow?.lastEventId === undefined) {
      if (cause !== undefined) this.#fail(failureOfError(cause));
      else if (this.#heard) this.#fail(new Failure('backend_unavailable', { message: ENDED }));
      else this.#fail(noAnswer('the stream ended without a message'));
      return;
    }
    this.#reconnects ??= new Reconnects(limits, random);
    const waitMs = this.#reconnects.next(flow.retryMs);
    if (waitMs === undefined) {
      const message = `${ENDED}, and cannot be resumed (\`limits.reconnects\`)`;
      this.#fail(new Failure('backend_unavailable', { message, cause }));
      return;
    }
    this.#step('cut');
    this.#cancelTimer = clock.after(waitMs, () => this.#resume(flow));
    if (cause === undefined) this.#sink.paused(flow.retryMs);
  }

  #resume(flow: EventFlow): void {
    const { path, headers } = this.#channel.context;
    this.#step('resume');
    this.dispatch({ method: 'GET', path, headers: headers.get(this.#outgoing.headers, flow.lastEventId) });
  }

  #onResumed(controller: Controller, status: number, headers: IncomingHttpHeaders, flow: EventFlow): void {
    if (status === 200 && mediaType(headers) === 'sse') {
      flow.opened(controller);
      this.#step('events');
    } else if (isPassing(status)) controller.abort(new Error(`HTTP status ${status}`));
    else if (status === 404) this.#fail(new Failure('backend_session_lost'));
    else this.#fail(new Failure('backend_unavailable', { message: `${ENDED}; resuming it got HTTP ${status}` }));
  }

  #fail(failure: Failure): void {
    if (!this.#step('failure')) return;
    if (this.controller === undefined) this.#close();
    else {
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
    this.#cancelTimer = this.#channel.context.clock.after(LINGER_MS, () => this.#disconnect());
  }

  #disconnect(): void {
    this.#flow?.stop();
    this.disconnect();
  }

  #close(): void {
    if (!this.#step('close')) return;
    this.#cancelTimer?.();
    this.#flow?.stop();
    this.#channel.requests.remove(this);
  }
}
