/**
 * One authorized body on its way to the service and back. Settled once: by the service, by the client's disconnect, or
 * by shutdown.
 */

import type { Fault } from '../bridge/responder.ts';
import type { Failure } from '../errors/failure.ts';
import type { Ending } from '../exchange/exchange.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import type { Permit } from '../policy/permit.ts';
import { rpcOutcomes } from '../wire/rpc.ts';
import type { RpcOutgoing, RpcReply, RpcSending, RpcService, RpcSink, TakenStatus } from './ports.ts';

/** One call of the body, and what allowed it. */
export interface AuthorizedCall {
  /** Undefined for a notification. */
  readonly id: string | undefined;
  readonly authorization: Authorization;
}

export class RpcRelay implements RpcSink {
  readonly #reply: RpcReply;
  readonly #calls: readonly AuthorizedCall[];
  readonly #fault: Fault;
  readonly #over: (relay: RpcRelay) => void;
  #sending: RpcSending | undefined;
  #settled = false;

  /** `over` is called when the relay is settled. */
  constructor(reply: RpcReply, calls: readonly AuthorizedCall[], fault: Fault, over: (relay: RpcRelay) => void) {
    this.#reply = reply;
    this.#calls = calls;
    this.#fault = fault;
    this.#over = over;
  }

  start(service: RpcService, permit: Permit, outgoing: RpcOutgoing): void {
    this.#reply.whenGone(() => this.#abandon());
    // The client may have disconnected while it was being authenticated.
    if (!this.#settled) this.#sending = service.send(permit, outgoing, this);
  }

  answered(status: number, body: Uint8Array): void {
    if (!this.#settle()) return;
    const isWatched = this.#calls.some(({ authorization }) => authorization.over !== undefined);
    const outcome = isWatched ? rpcOutcomes(body) : undefined;
    for (const { id, authorization } of this.#calls)
      authorization.over?.({ outcome: outcome?.(id).outcome ?? 'result' });
    this.#reply.answered(status, body);
  }

  taken(status: TakenStatus): void {
    if (!this.#settle()) return;
    this.#end({ outcome: 'result' });
    this.#reply.taken(status);
  }

  failed(failure: Failure): void {
    if (!this.#settle()) return;
    const told = this.#fault(failure);
    this.#end({ outcome: 'error', reason: told.reason });
    this.#reply.refuse(
      told,
      this.#calls.flatMap(({ id }) => (id === undefined ? [] : [id])),
    );
  }

  /** The gateway shuts down. */
  abort(failure: Failure): void {
    this.#sending?.cancel();
    this.failed(failure);
  }

  #abandon(): void {
    if (!this.#settle()) return;
    this.#sending?.cancel();
    this.#end({ outcome: 'cancelled' });
  }

  #end(ending: Ending): void {
    for (const { authorization } of this.#calls) authorization.over?.(ending);
  }

  /** Returns true the first time only. */
  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#over(this);
    return true;
  }
}
