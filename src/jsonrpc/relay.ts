/**
 * One authorized body on its way to the service and back. Settled once: by the service, by the client's disconnect, or
 * by shutdown.
 */

import type { Fault } from '../bridge/responder.ts';
import type { Failure } from '../errors/failure.ts';
import type { Ending } from '../exchange/exchange.ts';
import { rpcOutcomes } from '../wire/rpc-answer.ts';
import type { RpcAuthorized } from './authorize-all.ts';
import type { RpcOutgoing, RpcReply, RpcSending, RpcService, RpcSink, TakenStatus } from './ports.ts';

export interface RpcRelayParts {
  readonly service: RpcService;
  readonly cleared: RpcAuthorized;
  readonly outgoing: RpcOutgoing;
  readonly reply: RpcReply;
  readonly fault: Fault;
  /** Called when the relay is settled. */
  over(relay: RpcRelay): void;
}

export class RpcRelay implements RpcSink {
  readonly #parts: RpcRelayParts;
  #sending: RpcSending | undefined;
  #settled = false;

  constructor(parts: RpcRelayParts) {
    this.#parts = parts;
  }

  start(): void {
    const { service, cleared, outgoing, reply } = this.#parts;
    reply.whenGone(() => this.#abandon());
    // The client may have disconnected while it was being authenticated.
    if (!this.#settled) this.#sending = service.send(cleared.permit, outgoing, this);
  }

  answered(status: number, body: Uint8Array): void {
    if (!this.#settle()) return;
    const outcome = this.#isWatched ? rpcOutcomes(body) : undefined;
    for (const { id, authorization } of this.#parts.cleared.calls)
      authorization.over?.({ outcome: outcome?.(id) ?? 'result' });
    this.#parts.reply.answered(status, body);
  }

  taken(status: TakenStatus): void {
    if (!this.#settle()) return;
    this.#end({ outcome: 'result' });
    this.#parts.reply.taken(status);
  }

  failed(failure: Failure): void {
    if (!this.#settle()) return;
    const told = this.#parts.fault(failure);
    this.#end({ outcome: 'error', reason: told.reason });
    refuseAll(this.#parts.reply, told, this.#parts.outgoing.expects === 'many', this.#ids);
  }

  /** The gateway shuts down. */
  abort(failure: Failure): void {
    this.#sending?.cancel();
    this.failed(failure);
  }

  get #ids(): readonly string[] {
    return this.#parts.cleared.calls.flatMap(({ id }) => (id === undefined ? [] : [id]));
  }

  get #isWatched(): boolean {
    return this.#parts.cleared.calls.some(({ authorization }) => authorization.over !== undefined);
  }

  #abandon(): void {
    if (!this.#settle()) return;
    this.#sending?.cancel();
    this.#end({ outcome: 'cancelled' });
  }

  #end(ending: Ending): void {
    for (const { authorization } of this.#parts.cleared.calls) authorization.over?.(ending);
  }

  /** Returns true the first time only. */
  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#parts.over(this);
    return true;
  }
}

/**
 * In a batch each request gets an error, in one array. Where no response is expected, the HTTP status reports the
 * failure.
 */
export function refuseAll(reply: RpcReply, failure: Failure, isBatch: boolean, ids: readonly string[]): void {
  if (isBatch && ids.length > 0) reply.refuseEach(failure, ids);
  else reply.refuse(failure, isBatch ? undefined : ids[0]);
}
