/**
 * POST of an MCP endpoint. One object reads the body, is what arrives at the gateway, and answers. The response stays
 * undecided between JSON and a stream for as long as possible: JSON is cheaper, and its status can still report a
 * failure.
 */
import { Failure } from '../errors/failure.ts';
import type { Arrival, Authenticated, Endpoint, HeaderReader } from '../exchange/arrival.ts';
import type { Outlet, OutletOptions, Reply, ResumableStream, Settlement, Urgency } from '../exchange/outlet.ts';
import { concat, failureBytes, inOnePiece, type Raw } from '../wire/compose.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { Era } from '../wire/revisions.ts';
import { readMessage } from '../wire/scan.ts';
import { type Accepted, checkPost, readAccept } from './accept.ts';
import { checkContentType, IncomingBody } from './body.ts';
import { faultFailure } from './events.ts';
import { BatchOutlet, refusedOutlet } from './outlet.ts';
import { headersOf, paramHeadersOf } from './request-headers.ts';
import {
  type GoneWatcher,
  type HttpAnswer,
  type ResponseHeaders,
  respondEmpty,
  respondFailure,
  respondJson,
} from './respond.ts';
import { SseConnection } from './stream.ts';

export function servePost(res: HttpAnswer, endpoint: Endpoint, sender: Authenticated): void {
  const accepted = readAccept(res.req.headers.accept);
  const failure = checkContentType(res) ?? checkPost(accepted, endpoint.profile);
  if (failure === undefined) new Post(res, endpoint, sender, accepted).read();
  else respondFailure(res, failure);
}

class Post extends IncomingBody implements Arrival, Reply, Outlet, GoneWatcher {
  readonly header: HeaderReader;
  readonly reply: Reply = this;
  readonly carries: boolean;
  /** Set once the body is read. */
  message!: Message | Batch;
  readonly #accepted: Accepted;
  #carried: (() => ResponseHeaders) | undefined = undefined;
  #isAnswered = false;
  /** Set once the outlets are open. */
  #options: OutletOptions | undefined = undefined;
  #outlets: readonly Outlet[] = none;
  #unsettled = 0;
  #isAbandoned = false;
  #onAbandoned: (() => void) | undefined = undefined;
  /** A batch's settlements from before the response was decided, in their order. */
  #settlements: Settlement[] | undefined = undefined;
  /** Set once the response is a stream. */
  #connection: SseConnection | undefined = undefined;
  /** Set for a stream that outlives its connection. */
  #stream: ResumableStream | undefined = undefined;

  constructor(res: HttpAnswer, endpoint: Endpoint, sender: Authenticated, accepted: Accepted) {
    super(res, endpoint, sender);
    this.header = headersOf(res.req);
    this.carries = accepted.sse;
    this.#accepted = accepted;
  }

  get paramHeaders(): Arrival['paramHeaders'] {
    return paramHeadersOf(this.res.req);
  }

  protected received(bytes: Uint8Array): void {
    const { endpoint, res } = this;
    const { shared } = res;
    try {
      const message = readMessage(bytes, { depth: endpoint.profile.jsonDepth ?? shared.limits.jsonDepth });
      this.message = message;
      const { forwarding } = shared;
      const serve = forwarding && (() => this.serve());
      if (serve && forwarding.take({ res, endpoint, sender: this.sender, body: bytes, message, serve })) return;
      this.serve();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The body was read, and belongs to this process. */
  serve(): void {
    const { message, res } = this;
    const { shared } = res;
    try {
      if (shared.gateway.draining && (message.kind === 'request' || message.kind === 'batch')) {
        res.isLast = true;
        this.refuse(new Failure('shutting_down'), res.era);
      } else shared.gateway.receive(this);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const { shared, era } = this.res;
    const failure = faultFailure(error, shared.notes);
    if (this.message === undefined) shared.gateway.unread(this, failure);
    this.refuse(failure, era);
  }

  protected unreadable(failure: Failure): void {
    respondFailure(this.res, failure);
  }

  /** The body took too long; or the response does, which then becomes a stream. */
  override expire(): void {
    if (this.#options === undefined) super.expire();
    else if (!this.res.gone) {
      this.#becomeStream().flush();
    }
  }

  carry(headers: () => ResponseHeaders): void {
    this.#carried = headers;
  }

  accepted(): void {
    if (this.#take()) respondEmpty(this.res, 202);
  }

  /** After the outlets were opened, a failure settles all of them: a client must not hang because of our fault. */
  refuse(failure: Failure, era: Era, id = this.#id): void {
    if (this.#take()) respondFailure(this.res, failure, { era, id, ...this.#withCarried() });
    else for (const outlet of this.#outlets) outlet.settle({ kind: 'failure', failure, id });
  }

  respond(bytes: Uint8Array, headers?: ResponseHeaders): void {
    if (!this.#take()) return;
    const all = this.#withCarried(headers);
    if (this.#accepted.json) {
      respondJson(this.res, 200, bytes, all.headers);
      return;
    }
    const connection = new SseConnection(this.res, all);
    connection.send({ id: undefined, data: bytes, urgency: 'keep' });
    connection.end();
  }

  open(options: OutletOptions): readonly Outlet[] {
    const { era, requests, batch, longLived, stream } = options;
    const isFirst = this.#take();
    if (!isFirst || (longLived && !this.carries)) {
      const message = 'Not acceptable: the response is an event stream';
      if (isFirst) respondFailure(this.res, new Failure('not_acceptable', { message }), { era, id: this.#id });
      return Array.from({ length: requests }, () => refusedOutlet);
    }
    this.#options = options;
    this.#unsettled = requests;
    this.#outlets = batch ? Array.from({ length: requests }, () => new BatchOutlet(this)) : [this];
    // A client with a resumable stream, and every legacy client, cancels with a notification, not by disconnecting.
    if (era === 'modern' && stream === undefined) this.res.whenGone(this);
    if (!this.carries) return this.#outlets;
    if (longLived || this.res.shared.undecided === undefined) this.expire();
    else this.res.shared.undecided.add(this);
    return this.#outlets;
  }

  send(message: Uint8Array, urgency: Urgency, key?: string): void {
    // A client that accepts only JSON gets one document: the response.
    if (this.#unsettled > 0 && this.carries) this.#emit(message, urgency, key);
  }

  pause(retryMs: number | undefined): void {
    // Without a stream to resume, closing the connection would lose the response.
    if (this.#unsettled > 0 && this.carries && this.#options?.stream !== undefined) {
      this.#becomeStream();
      this.#stream?.pause(retryMs);
    }
  }

  settle(settlement: Settlement): void {
    if (this.#unsettled === 0) return;
    this.#unsettled -= 1;
    const isBatch = this.#options?.batch === true;
    if (this.#connection !== undefined) this.#emitSettlement(settlement);
    else if (isBatch) {
      this.#settlements ??= [];
      this.#settlements.push(settlement);
    }
    if (this.#unsettled > 0) return;
    this.res.shared.undecided?.remove(this);
    if (this.#connection !== undefined) this.#endStream();
    else if (isBatch) this.#respondBatch(this.#settlements ?? []);
    else this.#respond(settlement);
  }

  /** There is one listener: the exchange. */
  onAbandoned(listener: () => void): void {
    if (this.#isAbandoned) listener();
    else if (this.#unsettled > 0) this.#onAbandoned = listener;
  }

  gone(): void {
    if (this.#unsettled === 0) return;
    this.#unsettled = 0;
    this.#isAbandoned = true;
    this.res.shared.undecided?.remove(this);
    this.#onAbandoned?.();
  }

  #respond(settlement: Settlement): void {
    if (settlement.kind === 'silence') this.#respondSilence();
    else if (!this.#accepted.json && statusOf(settlement) === 200) {
      this.#emitSettlement(settlement);
      this.#endStream();
    } else if (settlement.kind === 'response') respondJson(this.res, settlement.status ?? 200, settlement.bytes);
    else respondFailure(this.res, settlement.failure, { era: this.#era, id: settlement.id });
  }

  /** Always 200: a status could report only one of the answers. */
  #respondBatch(settlements: readonly Settlement[]): void {
    if (settlements.every(({ kind }) => kind === 'silence')) this.#respondSilence();
    else if (!this.#accepted.json) this.#endStream();
    else {
      const parts: Raw[] = [];
      for (const settlement of settlements) {
        const bytes = this.#bytesOf(settlement);
        if (bytes !== undefined) parts.push(parts.length === 0 ? '[' : ',', bytes);
      }
      respondJson(this.res, 200, concat([...parts, ']']));
    }
  }

  /** Nothing was ever sent, so there is nothing to resume: no resumable stream is created. */
  #respondSilence(): void {
    if (this.carries) new SseConnection(this.res).end();
    else respondEmpty(this.res, 204);
  }

  #becomeStream(): SseConnection {
    if (this.#connection !== undefined) return this.#connection;
    this.res.shared.undecided?.remove(this);
    const connection = new SseConnection(this.res);
    this.#connection = connection;
    this.#stream = this.#options?.stream?.();
    this.#stream?.attach(connection);
    for (const settlement of this.#settlements ?? []) this.#emitSettlement(settlement);
    return connection;
  }

  #emit(data: Uint8Array, urgency: Urgency, key?: string): void {
    const connection = this.#becomeStream();
    if (this.#stream === undefined) connection.send({ id: undefined, data, urgency, key });
    else this.#stream.emit(data, urgency, key);
  }

  #emitSettlement(settlement: Settlement): void {
    const bytes = this.#bytesOf(settlement);
    if (bytes !== undefined) this.#emit(bytes, 'keep');
  }

  #endStream(): void {
    const connection = this.#becomeStream();
    if (this.#stream === undefined) connection.end();
    else this.#stream.terminate();
  }

  #bytesOf(settlement: Settlement): Uint8Array | undefined {
    if (settlement.kind === 'response') return inOnePiece(settlement.bytes);
    return settlement.kind === 'failure' ? failureBytes(settlement.failure, this.#era, settlement.id) : undefined;
  }

  get #era(): Era {
    return this.#options?.era ?? this.res.era;
  }

  /** The id to echo, if the message is a request. */
  get #id(): string | undefined {
    return this.message?.kind === 'request' ? this.message.id.raw : undefined;
  }

  #withCarried(own?: ResponseHeaders): { readonly headers?: ResponseHeaders } {
    if (this.#carried === undefined) return own === undefined ? {} : { headers: own };
    return { headers: { ...own, ...this.#carried() } };
  }

  /** Returns true the first time only. */
  #take(): boolean {
    if (this.#isAnswered) return false;
    this.#isAnswered = true;
    return true;
  }
}

const none: readonly Outlet[] = [];

function statusOf(settlement: Settlement): number {
  if (settlement.kind === 'response') return settlement.status ?? 200;
  if (settlement.kind !== 'failure') return 200;
  return settlement.failure.http?.status ?? settlement.failure.row.status;
}
