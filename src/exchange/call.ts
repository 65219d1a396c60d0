/**
 * Upstream: one request to one backend until the backend is done with it. Usually one exchange has one call. A call
 * that asks a modern client for input outlives its exchange, and the exchange of the client's retry takes it up.
 */
import type { Failure } from '../errors/failure.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import type { ClientCapabilities } from '../wire/capabilities.ts';
import type { Raw } from '../wire/compose.ts';
import type { ErrorResponse, Notification, Request, ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era, Revision } from '../wire/revisions.ts';
import type { Exchange } from './exchange.ts';
import type { CallOrigin } from './observer.ts';
import type { AskTrace, Trace } from './trace.ts';

/** What a client says of itself: once in `initialize`, or in every modern request. */
export interface ClientFacts {
  readonly revision: Revision;
  /** `clientInfo`, byte for byte. */
  readonly info: Raw | undefined;
  readonly capabilities: ClientCapabilities;
  /**
   * The ids of the gateways that the client came through, where it is a gateway. Sessions opened for it carry them
   * (wire/via.ts).
   */
  readonly via?: readonly string[];
}

/** What a backend is asked to do, independent of the era: the adapter of the backend's era writes the envelope. */
export interface CallRequest {
  readonly row: MethodRow;
  /**
   * The client's message. Its id, progress token and protocol `_meta` are replaced; everything else is passed on
   * unchanged.
   */
  readonly message: Request;
  readonly client: ClientFacts;
  /** The client gave a progress token. */
  readonly progress: boolean;
  /** Lowest level of log messages that the client wants for this request. */
  readonly logLevel: string | undefined;
  /** Set in a later round that the gateway drives itself: replaces what the message carries. */
  readonly round?: { readonly inputResponses: Raw | undefined; readonly requestState: Raw | undefined };
  /** The `task` parameter, for a backend that runs the call as a task. Absent: the call is an ordinary one. */
  readonly task?: Raw | undefined;
  /** The call is made again after waiting for a person, so the config may have changed meanwhile. */
  readonly again?: boolean;
  /** Absent where the request belongs to no trace. */
  readonly trace?: Trace | undefined;
  /** `Mcp-Param-*` headers for backends that are reached over HTTP. */
  readonly paramHeaders?: Readonly<Record<string, string>> | undefined;
  /** The client's message, for observers. Absent where nothing observes, and in calls of the gateway itself. */
  readonly origin?: CallOrigin | undefined;
}

/**
 * How a call ended. `vocabulary` is the era in whose form the message is written, so that a client of the other era can
 * be served without knowing the backend.
 */
export type CallOutcome =
  /**
   * `screened`: tools with invalid header annotations are removed already. `type`: the `resultType`, where it is one of
   * an extension.
   */
  | {
      readonly kind: 'result';
      readonly message: ResultResponse;
      readonly vocabulary: Era;
      readonly screened?: boolean;
      readonly type?: string;
      /** Of a call that was made as a task: `Id.key` of the token under which its progress goes on. */
      readonly progressToken?: string;
    }
  | { readonly kind: 'error'; readonly message: ErrorResponse; readonly vocabulary: Era }
  /** `unseen`: the backend refused the request without processing it, so any request may safely be sent again. */
  | { readonly kind: 'failure'; readonly failure: Failure; readonly unseen?: boolean };

/** The reply to a server request: the raw `result` or `error` of the client's response, or why there is none. */
export type ServerRequestReply = { readonly result: Raw } | { readonly error: Raw } | { readonly failure: Failure };

/** A server-to-client request of a legacy backend. Answered once; later answers are ignored. */
export interface ServerRequest {
  readonly row: MethodRow;
  /** The backend's own message, with the backend's id. */
  readonly message: Request;
  /** Absent where the request belongs to no trace. */
  readonly trace?: AskTrace | undefined;
  answer(reply: ServerRequestReply): void;
  /** The request was passed to a client, which will answer it whatever happens to the call that it came with. */
  handedOver?(): void;
  /**
   * The backend cancels the request (`notifications/cancelled`), or its session ends. Calls the listener at once if
   * that has already happened.
   */
  onWithdrawn(listener: () => void): void;
}

/**
 * Receives what a backend sends while a call runs. No method is called after `settle`, or after the call was cancelled.
 */
export interface CallSink {
  /**
   * Progress, a log message, or anything else that belongs to this call. Ids and tokens in it are the upstream ones.
   */
  notify(notification: Notification): void;
  ask(ask: ServerRequest): void;
  /** The backend closed the connection for now and goes on working (2025-11-25 polling). */
  pause(retryMs: number | undefined): void;
  settle(outcome: CallOutcome): void;
}

export interface Retry {
  readonly exchange: Exchange;
  readonly authorization: Authorization;
  readonly trace?: Trace | undefined;
}

export interface Call {
  /** A later request of the client has taken the call up, and wants log messages from this level on, or none. */
  hear?(logLevel: string | undefined): void;
  /** The same, where the call is authorized: that request has its own exchange, and was authorized on its own. */
  continueAs?(retry: Retry): void;
  /** Tells the backend that the result is no longer wanted. The sink gets nothing afterwards, not even `settle`. */
  cancel(reason?: string): void;
}
