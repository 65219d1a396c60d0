/** The ports of JSON-RPC that is not MCP: what comes in, how it is answered, and the service that it goes to. */
import type { Failure } from '../errors/failure.ts';
import type { Authenticated, Endpoint } from '../exchange/arrival.ts';
import type { Permit } from '../policy/permit.ts';
import type { Batch } from '../wire/message.ts';
import type { RpcMessage } from '../wire/rpc.ts';

export interface RpcArrival {
  readonly endpoint: Endpoint;
  readonly sender: Authenticated;
  readonly message: RpcMessage | Batch;
  readonly reply: RpcReply;
}

export interface RpcGate {
  /** Never throws: what goes wrong is told through `reply`. */
  receive(arrival: RpcArrival): void;
}

/** Exactly one of the first four is called, once. */
export interface RpcReply {
  /** What the service said, as it is. */
  answered(status: number, body: Uint8Array): void;
  /** Nobody waits for an answer, and the service has it. */
  taken(status: TakenStatus): void;
  /** `id` as it was sent, where one thing was asked. */
  refuse(failure: Failure, id?: string): void;
  /** The requests of a batch, by their ids. */
  refuseEach(failure: Failure, ids: readonly string[]): void;
  /** Called once the client is gone; at once if it is. */
  whenGone(listener: () => void): void;
}

export type TakenStatus = 202 | 204;

/** A service that speaks JSON-RPC over HTTP. It has neither sessions nor anything to ask. */
export interface RpcService {
  readonly name: string;
  readonly state: RpcServiceState;
  /** One POST. Of a batch, every member was allowed, and the permit of one stands for all. */
  send(permit: Permit, outgoing: RpcOutgoing, sink: RpcSink): RpcSending;
  close(): Promise<void>;
}

export type RpcServiceState = { readonly state: 'ready' } | { readonly state: 'down'; readonly failure: Failure };

export interface RpcOutgoing {
  readonly bytes: Uint8Array;
  /** `one`: a request. `many`: a batch with requests in it. */
  readonly expects: 'one' | 'many' | 'nothing';
}

/** One of these is called, once, and not before `send` has returned; none after `cancel`. */
export interface RpcSink {
  answered(status: number, body: Uint8Array): void;
  taken(status: TakenStatus): void;
  failed(failure: Failure): void;
}

export interface RpcSending {
  cancel(): void;
}
