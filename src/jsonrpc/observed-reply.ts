/** Tells the observer of calls how they end. It wraps the reply, so that nothing is asked where nothing observes. */
import type { Failure } from '../errors/failure.ts';
import { type RpcMessage, rpcOutcomes } from '../wire/rpc.ts';
import type { ObservedRpc, RpcArrival, RpcEnding, RpcObserver, RpcReply, TakenStatus } from './ports.ts';

export class ObservedReply implements RpcReply {
  readonly #reply: RpcReply;
  readonly #observer: RpcObserver;
  #open: readonly ObservedRpc[] = [];

  constructor(reply: RpcReply, observer: RpcObserver) {
    this.#reply = reply;
    this.#observer = observer;
  }

  /** Called once the members of the body are known. What is refused before that is a refusal in the log. */
  begin(arrival: RpcArrival, messages: readonly RpcMessage[], startedAt: number): void {
    this.#open = messages.flatMap((call) => (call.kind === 'answer' ? [] : { arrival, call, startedAt }));
    for (const call of this.#open) this.#observer.began(call);
  }

  get status(): number | undefined {
    return this.#reply.status;
  }

  answered(status: number, body: Uint8Array): void {
    this.#reply.answered(status, body);
    const outcome = rpcOutcomes(body);
    this.#end(({ call: { kind, id } }) => (kind === 'request' ? outcome(id) : { outcome: 'accepted' }));
  }

  taken(status: TakenStatus): void {
    this.#reply.taken(status);
    this.#end(() => ({ outcome: 'accepted' }));
  }

  refuse(failure: Failure, ids: readonly string[]): void {
    this.#reply.refuse(failure, ids);
    this.#end(() => ({ outcome: 'error', failure }));
  }

  whenGone(listener: () => void): void {
    this.#reply.whenGone(() => {
      listener();
      this.#end(() => ({ outcome: 'cancelled' }));
    });
  }

  #end(endingOf: (call: ObservedRpc) => RpcEnding): void {
    const ended = this.#open;
    this.#open = [];
    for (const call of ended) this.#observer.ended(call, endingOf(call));
  }
}
