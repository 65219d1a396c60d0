/** Downstream ports that a transport implements: where the answer to one client request goes, and an open stream. */
import type { Failure } from '../errors/failure.ts';
import type { Pieces } from '../wire/compose.ts';
import type { Era } from '../wire/revisions.ts';

/**
 * What may happen to a message when its reader is slow: progress is coalesced, log messages are dropped and counted,
 * everything else is kept or the reader is cut off.
 */
export type Urgency = 'progress' | 'log' | 'keep';

/** One event on a stream. Empty data primes a client to resume (2025-11-25). */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly data: Uint8Array;
  readonly urgency: Urgency;
  /** Progress with the same key may replace what has not been sent yet. */
  readonly key?: string | undefined;
  /**
   * Replayed from the event log, which keeps the event and has its own limits. It does not count against the outbox.
   */
  readonly replayed?: true;
}

/** One open connection that carries events in order. Bounded; never blocks the sender. */
export interface Connection {
  send(event: StreamEvent): void;
  /**
   * Tells the client when to reconnect, where that is known, and closes the connection. The stream continues without
   * it.
   */
  pause(retryMs: number | undefined): void;
  end(): void;
  /** Calls the listener once when the connection is closed, by either side; at once if it is closed already. */
  onClose(listener: () => void): void;
}

/** How an exchange ends. */
export type Settlement =
  /** A complete JSON-RPC response. `status` is for transports that can still send it; 200 otherwise. */
  | { readonly kind: 'response'; readonly bytes: Pieces; readonly status?: number | undefined }
  | { readonly kind: 'failure'; readonly failure: Failure; readonly id: string | undefined }
  /** Cancelled: there is no response. */
  | { readonly kind: 'silence' };

/** Where messages that belong to one client request go. */
export interface Outlet {
  /** Whether anything but the response can reach the client. A client that accepts only JSON gets a single document. */
  readonly carries: boolean;
  /** Sends a message that belongs to the request and comes before its response. */
  send(message: Uint8Array, urgency: Urgency, key?: string): void;
  /** Takes effect once; later calls are ignored. */
  settle(settlement: Settlement): void;
  pause(retryMs: number | undefined): void;
  /**
   * The client disconnected before the response. In the modern era that is a cancellation; a legacy transport never
   * calls it for a dropped connection. Called at most once, never after `settle`.
   */
  onAbandoned(listener: () => void): void;
}

/** A stream that outlives its connections: a legacy client can resume it. */
export interface ResumableStream {
  attach(connection: Connection): void;
  emit(message: Uint8Array, urgency: Urgency, key?: string): void;
  pause(retryMs: number | undefined): void;
  terminate(): void;
}

/**
 * How one arrival is answered, over HTTP or on the one stream of stdio and HTTP+SSE. Except for `carry`, exactly one of
 * these methods is called, once.
 */
export interface Reply {
  /** The HTTP status, once it is sent. Absent where the transport has none. */
  readonly status?: number | undefined;
  /**
   * Adds response headers, computed when the response goes out. Called before the other methods. No effect where the
   * transport has no headers.
   */
  carry(headers: () => Readonly<Record<string, string>>): void;
  /** A notification or a response was accepted: 202, no body. */
  accepted(): void;
  /** Refused before there was an exchange. `id` is echoed where it is known. */
  refuse(failure: Failure, era: Era, id?: string): void;
  /** One complete response. Only `initialize` needs the headers. */
  respond(bytes: Uint8Array, headers?: Readonly<Record<string, string>>): void;
  /** Opens one outlet for each request of the arrival (1, or a batch's) on one response. */
  open(options: OutletOptions): readonly Outlet[];
}

export interface OutletOptions {
  readonly era: Era;
  readonly requests: number;
  /** The arrival was a batch: the response is one JSON array, or one stream with all responses. */
  readonly batch: boolean;
  /**
   * The request lives as long as its stream (`subscriptions/listen`): headers go out at once, and a client that accepts
   * only JSON is refused.
   */
  readonly longLived: boolean;
  /** Set where the response may become a stream that the client can resume: legacy sessions. */
  readonly stream?: (() => ResumableStream) | undefined;
}
