/** The response to a POST: JSON, a stream, a status alone or a failure. */
import { Failure } from '../errors/failure.ts';
import type { Outlet, OutletOptions, Reply } from '../exchange/outlet.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { Era } from '../wire/revisions.ts';
import type { Accepted } from './accept.ts';
import type { HttpAnswer } from './answer.ts';
import { openOutlets, type Replies, refusedOutlets } from './outlet.ts';
import { type ResponseHeaders, respondEmpty, respondFailure, respondJson } from './respond.ts';
import { SseConnection } from './stream.ts';

export class PostReply implements Reply {
  readonly #res: HttpAnswer;
  readonly #accepted: Accepted;
  readonly #message: Message | Batch;
  readonly #shared: Replies;
  #carried: (() => ResponseHeaders) | undefined;
  #used = false;
  #outlets: readonly Outlet[] = [];

  constructor(res: HttpAnswer, accepted: Accepted, message: Message | Batch, shared: Replies) {
    this.#res = res;
    this.#accepted = accepted;
    this.#message = message;
    this.#shared = shared;
  }

  /** The id to echo, if the message is a request. */
  get id(): string | undefined {
    return this.#message.kind === 'request' ? this.#message.id.raw : undefined;
  }

  carry(headers: () => ResponseHeaders): void {
    this.#carried = headers;
  }

  accepted(): void {
    if (this.#take()) respondEmpty(this.#res, 202);
  }

  /** After the outlets were opened, a failure settles all of them: a client must not hang because of our fault. */
  refuse(failure: Failure, era: Era, id?: string): void {
    if (this.#take()) respondFailure(this.#res, failure, { era, id: id ?? this.id, ...this.#withCarried() });
    else for (const outlet of this.#outlets) outlet.settle({ kind: 'failure', failure, id: id ?? this.id });
  }

  respond(bytes: Uint8Array, headers?: ResponseHeaders): void {
    if (!this.#take()) return;
    const all = this.#withCarried(headers);
    if (this.#accepted.json) {
      respondJson(this.#res, 200, bytes, all.headers);
      return;
    }
    const connection = new SseConnection(this.#res, this.#shared, all);
    connection.send({ id: undefined, data: bytes, urgency: 'keep' });
    connection.end();
  }

  open(options: OutletOptions): readonly Outlet[] {
    if (!this.#take()) return refusedOutlets(options.requests);
    if (options.longLived && !this.#accepted.sse) {
      const failure = new Failure('not_acceptable', { message: 'Not acceptable: the answer is an event stream' });
      respondFailure(this.#res, failure, { era: options.era, id: this.id });
      return refusedOutlets(options.requests);
    }
    this.#outlets = openOutlets(this.#res, this.#accepted, options, this.#shared);
    return this.#outlets;
  }

  #withCarried(own?: ResponseHeaders): { readonly headers?: ResponseHeaders } {
    if (this.#carried === undefined) return own === undefined ? {} : { headers: own };
    return { headers: { ...own, ...this.#carried() } };
  }

  #take(): boolean {
    if (this.#used) return false;
    this.#used = true;
    return true;
  }
}
