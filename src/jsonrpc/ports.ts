/** The ports of JSON-RPC that is not MCP: what arrives, how it is answered, and the service that gets it. */
import type { Failure } from '../errors/failure.ts';
import type { SentRequest } from '../exchange/arrival.ts';
import type { Permit } from '../policy/permit.ts';
import type { Batch } from '../wire/message.ts';
import type { RpcCall, RpcMessage, RpcOutcome } from '../wire/rpc.ts';

export interface RpcArrival extends SentRequest {
  readonly message: RpcMessage | Batch;
  readonly reply: RpcReply;
  /** `X-Request-Id`, as the response carries it. */
  readonly requestId: string | undefined;
}

export interface RpcGate {
  /** Never throws: failures are reported through `reply`. */
  receive(arrival: RpcArrival): void;
}

/** Exactly one of the first three methods is called, once. */
export interface RpcReply {
  /** The service's response, unchanged. */
  answered(status: number, body: Uint8Array): void;
  /** The service has accepted what needs no response. */
  taken(status: TakenStatus): void;
  /** `ids`: of all requests in the body, byte for byte. Each request of a batch gets an error of its own. */
  refuse(failure: Failure, ids: readonly string[]): void;
  /** Calls the listener once the client has disconnected; at once if it has already. */
  whenGone(listener: () => void): void;
  /** The HTTP status, once it is sent. */
  readonly status: number | undefined;
}

/** A call of a client, as observers see it. A batch has several, with the same arrival. */
export interface ObservedRpc {
  readonly arrival: RpcArrival;
  readonly call: RpcCall;
  /** On the clock of the gateway. */
  readonly startedAt: number;
}

export interface RpcEnding extends Pick<RpcOutcome, 'code'> {
  /** `accepted`: a notification, which is not answered. */
  readonly outcome: RpcOutcome['outcome'] | 'cancelled' | 'accepted';
  /** Set where the gateway itself failed the call. */
  readonly failure?: Failure | undefined;
}

/** Is told of every call whose sender is authenticated. It returns at once, never throws, and changes nothing. */
export interface RpcObserver {
  began(call: ObservedRpc): void;
  /** Called once for each call that began, after the response was written. */
  ended(call: ObservedRpc, ending: RpcEnding): void;
}

export type TakenStatus = 202 | 204;

/** A service that speaks JSON-RPC over HTTP. It has no sessions and sends no server requests. */
export interface RpcService {
  readonly name: string;
  readonly state: RpcServiceState;
  /** Sends one POST. Every member of a batch is authorized, and the permit of one stands for all. */
  send(permit: Permit, outgoing: RpcOutgoing, sink: RpcSink): RpcSending;
  close(): Promise<void>;
}

export type RpcServiceState = { readonly state: 'ready' } | { readonly state: 'down'; readonly failure: Failure };

export interface RpcOutgoing {
  readonly bytes: Uint8Array;
  /** `one`: a request. `many`: a batch with requests in it. */
  readonly expects: 'one' | 'many' | 'nothing';
}

/** Exactly one of these methods is called, once, and not before `send` has returned. None is called after `cancel`. */
export interface RpcSink extends Pick<RpcReply, 'answered' | 'taken'> {
  failed(failure: Failure): void;
}

export interface RpcSending {
  cancel(): void;
}
