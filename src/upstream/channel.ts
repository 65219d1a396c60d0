/**
 * A connection to one backend: the pipes of a child process, or an HTTP address. A channel moves messages without
 * interpreting them. The adapters of the two eras (legacy.ts, modern.ts) are written once against it.
 */
import type { Failure } from '../errors/failure.ts';
import type { CallObserver } from '../exchange/observer.ts';
import type { BackendTracer } from '../exchange/trace.ts';
import type { Notification, Request, Response } from '../wire/message.ts';
import type { Reception } from './reception.ts';

/** A request from us to the backend. */
export interface Outgoing {
  readonly bytes: Uint8Array;
  /** `Id.key` of the request, unique on this channel while it is in flight. */
  readonly id: string;
  /** Mirrored headers, version header, session header. Channels without headers ignore them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The response stays open until one side ends it, so it must not take the place of a call. */
  readonly longLived?: boolean;
}

/**
 * Receives everything that belongs to one request. `answered` or `failed` ends it, once. Nothing is called after
 * `abort`.
 */
export interface RequestSink {
  /** A notification or a request on this request's own stream. Only channels with a stream per request call it. */
  message(message: Notification | Request): Reception;
  answered(message: Response, http: HttpFacts | undefined): void;
  /**
   * Includes every response that answers nothing: 202, 204, an empty stream, an unreadable body, a cut-off, too many
   * bytes.
   */
  failed(failure: Failure, http: HttpFacts | undefined): void;
  /** Bytes arrived that complete no message: the head of a stream, a keep-alive comment, a part of a large message. */
  alive(): void;
  /** The backend closed the stream and said when to reconnect; the channel reconnects by itself. */
  paused(retryMs: number | undefined): void;
}

/** HTTP facts beside the message. */
export interface HttpFacts {
  readonly status: number;
  /** `Mcp-Session-Id` of the response. */
  readonly sessionId: string | undefined;
}

export interface Pending {
  /** Stops waiting and closes the request's stream. Sends the backend no message. */
  abort(): void;
}

/** Receives what belongs to no request. */
export interface ChannelSink {
  /**
   * Anything not correlated to a request of ours. The channel itself drops and counts responses with unknown or
   * duplicate ids.
   */
  stray(message: Notification | Request): Reception;
  /**
   * The process ended, or the channel was cut for good. Requests in flight have failed before this. Not called after
   * `close`.
   */
  lost(failure: Failure): void;
}

export interface Channel {
  /** Whether requests and notifications of the backend come on the stream of the request that they belong to. */
  readonly streamPerRequest: boolean;
  request(outgoing: Outgoing, sink: RequestSink): Pending;
  /**
   * Sends a notification, or our response to a server request. Resolves when it was handed over; rejects with a
   * Failure.
   */
  post(message: Uint8Array, headers: Readonly<Record<string, string>>): Promise<void>;
  /**
   * Opens the backend's standalone stream where it has one (legacy GET). Its messages arrive as strays. The channel
   * re-opens it with `Last-Event-ID` for as long as the channel lives; a 405 means that there is none. A channel that
   * receives these messages anyway has no such method. Resolves when the backend has answered, with anything, or can no
   * longer answer; never rejects.
   */
  listen?(headers: Readonly<Record<string, string>>, listener: StandaloneListener): Promise<void>;
  /** Ends a legacy HTTP session (DELETE). Absent where the channel is the session, which ends with `close`. */
  forget?(headers: Readonly<Record<string, string>>): Promise<void>;
  /** While `wanted` returns true, the process is not ended for being idle. Absent where the channel has no process. */
  keepWhile?(wanted: () => boolean): void;
  close(): Promise<void>;
}

/** Reports the state of the backend's standalone stream. */
export interface StandaloneListener {
  opened(): void;
  /** The stream ended or could not be opened. It is retried. */
  away(): void;
  /** The stream is open again after a gap: messages sent meanwhile were lost. */
  missed(): void;
  /**
   * As many attempts as a request gets have failed. Retries continue at longer pauses. Called again for each attempt.
   */
  lost(failure: Failure): void;
  /** The backend offers no standalone stream. */
  none(): void;
  /** The backend served the stream before, and now answers 400: it may have forgotten the session. */
  doubted(): void;
}

/** Irregularities that a channel survived, for logs and counters. */
export interface ChannelNotes {
  /** The standalone stream is lost for now. Call the returned function once: when it is back, or no longer wanted. */
  streamLost(why: string): (how: 'back' | 'closed') => void;
  /** A line on stdout that is no message, or a response to no open request. `text` is truncated. */
  noise(kind: 'stdout' | 'unknown_id' | 'unreadable' | 'stderr', text: string): void;
  /**
   * The backend sends too much outside of calls: it was paused for a while, or ended. `where`: which pipe or stream.
   */
  flood(stage: 'paused' | 'ended', where: string): void;
  /** A process has hit a limit of its sandbox, and was ended. */
  overLimit(failure: Failure): void;
}

export type OddKind =
  /** A JSON-RPC request from a modern backend: the revision forbids it. */
  | 'forbidden_request'
  /** A notification that belongs to no call, or whose call is over. */
  | 'unattributed'
  /** A second server request under the id of an open one. */
  | 'duplicate_ask'
  /** A notification or response of ours that the backend did not accept. */
  | 'not_taken'
  /** The backend has not answered a probe for long. */
  | 'slow'
  /** An exception in a handler: a fault of ours, survived. */
  | 'fault';

/** Irregularities that the adapters survived. */
export interface BackendNotes extends ChannelNotes {
  /** Absent where nothing observes calls. */
  readonly calls?: CallObserver | undefined;
  /** Absent where traces are not configured. */
  readonly tracer?: BackendTracer | undefined;
  odd(kind: OddKind, text: string, cause?: unknown): void;
  /** The backend refused one of the principals that have accounts of their own there. */
  refused(failure: Failure): void;
  /** A stream was not opened, because `most` streams are open, which is the limit. */
  streamsFull(most: number): void;
}
