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
  /** Out of the event log, which keeps it and has bounds of its own: it takes no room, and is never too much. */
  readonly replayed?: true;
}

/** One open connection that carries events in order. Bounded; never blocks the sender. */
export interface Connection {
  send(event: StreamEvent): void;
  /** Tells the client when to come back, where that is known, and closes; the stream goes on without it. */
  pause(retryMs: number | undefined): void;
  end(): void;
  /** Called once when the connection is gone, whoever ended it; at once if it is gone already. */
  onClose(listener: () => void): void;
}

/** How an exchange ends. */
export type Settlement =
  /** A JSON-RPC response, complete. `status` is for transports that can still say it; 200 otherwise. */
  | { readonly kind: 'response'; readonly bytes: Pieces; readonly status?: number }
  | { readonly kind: 'failure'; readonly failure: Failure; readonly id: string | undefined }
  /** Cancelled: nothing is answered. */
  | { readonly kind: 'silence' };

/** Where what belongs to one client request goes. */
export interface Outlet {
  /** Whether anything but the answer can reach the client. One that reads JSON alone gets a single document. */
  readonly carries: boolean;
  /** A message that belongs to the request and comes before its answer. */
  send(message: Uint8Array, urgency: Urgency, key?: string): void;
  /** Once; ignored afterwards. */
  settle(settlement: Settlement): void;
  pause(retryMs: number | undefined): void;
  /**
   * The client went away before the answer. In the modern era that is cancellation; a legacy transport never calls it for a
   * dropped connection. At most once, never after `settle`.
   */
  onAbandoned(listener: () => void): void;
}

/** A stream that outlives its connections: a legacy client can come back to it. */
export interface ResumableStream {
  attach(connection: Connection): void;
  emit(message: Uint8Array, urgency: Urgency, key?: string): void;
  pause(retryMs: number | undefined): void;
  terminate(): void;
}

/** How one arrival is answered over HTTP, or on the one stream of stdio and HTTP+SSE. Exactly one of these is called, once, but for `carry`. */
export interface Reply {
  /** Headers of the answer, made when it goes out. Before any of the others; nothing where the transport has no headers. */
  carry(headers: () => Readonly<Record<string, string>>): void;
  /** A notification or a response was taken: 202, no body. */
  accepted(): void;
  /** Refused before there was an exchange. `id` is echoed where it is known. */
  refuse(failure: Failure, era: Era, id?: string): void;
  /** One answer, complete, with headers that only `initialize` needs. */
  respond(bytes: Uint8Array, headers?: Readonly<Record<string, string>>): void;
  /** Opens as many outlets as the arrival has requests (1, or a batch's) on one response. */
  open(options: OutletOptions): readonly Outlet[];
}

export interface OutletOptions {
  readonly era: Era;
  readonly requests: number;
  /** The arrival was a batch: one JSON array, or one stream with all answers. */
  readonly batch: boolean;
  /** The request lives as long as its stream (`subscriptions/listen`): headers go out at once, and JSON alone is refused. */
  readonly longLived: boolean;
  /** Where the answer becomes a stream that the client may resume: legacy sessions. */
  readonly stream?: () => ResumableStream;
}
