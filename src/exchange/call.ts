/**
 * Upstream: one request to one backend until the backend is done with it. Ordinarily one exchange drives one call; a call
 * that asks a modern client for input outlives its exchange and is picked up by the next one.
 */
import type { Failure } from '../errors/failure.ts';
import type { ClientCapabilities } from '../wire/capabilities.ts';
import type { Raw } from '../wire/compose.ts';
import type { ErrorResponse, Notification, Request, ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era, Revision } from '../wire/revisions.ts';

/** What a client says of itself: once in `initialize`, or in every modern request. */
export interface ClientFacts {
  readonly revision: Revision;
  /** `clientInfo`, as it was sent. */
  readonly info: Raw | undefined;
  readonly capabilities: ClientCapabilities;
  /** The gateways that it came by, where it is one: sessions that are opened on its behalf are marked with them (wire/via.ts). */
  readonly via?: readonly string[];
}

/** What a backend is to do. It names no era of its own: the adapter of the backend's era writes the envelope around it. */
export interface CallRequest {
  readonly row: MethodRow;
  /** The client's message. Its id, progress token and protocol `_meta` stay here; everything else goes on as it is. */
  readonly message: Request;
  readonly client: ClientFacts;
  /** The client gave a progress token. */
  readonly progress: boolean;
  /** Lowest level of log messages that the client wants for this request. */
  readonly logLevel: string | undefined;
  /** Set in a later round that the gateway drives itself: replaces what the message carries. */
  readonly round?: { readonly inputResponses: Raw | undefined; readonly requestState: Raw | undefined };
  /** Made again after a person was waited for: what is in force may be something else by now. */
  readonly again?: boolean;
  /** `Mcp-Param-*` headers for backends that are reached over HTTP. */
  readonly paramHeaders?: Readonly<Record<string, string>>;
}

/**
 * How a call ended. `vocabulary` says in which era's words the message is written, so that a client of the other era can be
 * served without anybody knowing who the backend was.
 */
export type CallOutcome =
  /** `screened`: what must not reach a client was taken out before. */
  | {
      readonly kind: 'result';
      readonly message: ResultResponse;
      readonly vocabulary: Era;
      readonly screened?: boolean;
    }
  | { readonly kind: 'error'; readonly message: ErrorResponse; readonly vocabulary: Era }
  /** `unseen`: the backend refused the request without looking at it, so it may be sent again whatever it does. */
  | { readonly kind: 'failure'; readonly failure: Failure; readonly unseen?: boolean };

/** What became of an ask: the raw `result` or `error` of the client's answer, or why there is none. */
export type ServerRequestReply = { readonly result: Raw } | { readonly error: Raw } | { readonly failure: Failure };

/** A server-to-client request of a legacy backend. Answered once; later answers are ignored. */
export interface ServerRequest {
  readonly row: MethodRow;
  /** The backend's own message, with the backend's id. */
  readonly message: Request;
  answer(reply: ServerRequestReply): void;
  /** A client has the question, and answers it whatever becomes of the call that it came with. */
  handedOver?(): void;
  /** The backend takes the question back (`notifications/cancelled`), or its session ends. Called at once if that was already so. */
  onWithdrawn(listener: () => void): void;
}

/** Who hears what a backend says while a call runs. After `settle`, or after the call was cancelled, nothing is called any more. */
export interface CallSink {
  /** Progress, a log message, or anything else that belongs to this call; ids and tokens in it are the upstream ones. */
  notify(notification: Notification): void;
  ask(ask: ServerRequest): void;
  /** The backend closed the connection for now and goes on working (2025-11-25 polling). */
  pause(retryMs: number | undefined): void;
  settle(outcome: CallOutcome): void;
}

export interface Call {
  /** Another request of the client has taken the call up, and wants log messages from this level on, or none. */
  hear?(logLevel: string | undefined): void;
  /** Tells the backend that nobody waits any more. The sink hears nothing afterwards, not even a settlement. */
  cancel(reason?: string): void;
}
