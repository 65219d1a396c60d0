/**
 * A way to one backend: a child's pipes, or an HTTP address. A channel moves messages and knows nothing of what they mean;
 * the adapters of the two eras (legacy.ts, modern.ts) are written once against it.
 */
import type { Failure } from '../errors/failure.ts';
import type { Notification, Request, Response } from '../wire/message.ts';

/** A request of ours. */
export interface Outgoing {
  readonly bytes: Uint8Array;
  /** `Id.key` of the request, unique on this channel while it is in flight. */
  readonly id: string;
  /** Mirrored headers, version header, session header: ignored by channels that have no headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Hears what comes back on a request's account. `answered` or `failed` ends it, once; nothing is called after `abort`. */
export interface RequestSink {
  /** A notification or a request on this request's own stream. Only channels with a stream per request call it. */
  message(message: Notification | Request): Reception;
  answered(message: Response, http: HttpFacts | undefined): void;
  /** Includes every answer that is no answer: 202, 204, an empty stream, an unreadable body, a cut-off, too many bytes. */
  failed(failure: Failure, http: HttpFacts | undefined): void;
  /** Something came that completes no message: the head of a stream, a comment that keeps it open, a part of something large. */
  alive(): void;
  /** The backend closed the stream and said when to come back; the channel comes back by itself. */
  paused(retryMs: number | undefined): void;
}

/** What HTTP said beside the message. */
export interface HttpFacts {
  readonly status: number;
  /** `Mcp-Session-Id` of the response. */
  readonly sessionId: string | undefined;
}

export interface Pending {
  /** Stops waiting and closes the request's stream. Tells the backend nothing by itself, but for that. */
  abort(): void;
}

/**
 * What a message was, for the flood budget and for the rule of idle processes:
 * - `answer`: to a request of ours, also one that was aborted.
 * - `call`: progress or a log message of a running call.
 * - `late`: progress of an aborted call. Has the budget of `call`, and is no activity.
 * - `session`: passed on to the client of the session. Unsolicited.
 * - `none`: answered here, or dropped, or a log message outside of calls, which is passed on all the same. Unsolicited, and
 *   no activity: a process that writes nothing else is idle.
 */
export type Reception = 'answer' | 'call' | 'late' | 'session' | 'none';

/** Hears what belongs to no request. */
export interface ChannelSink {
  /** Anything that was not correlated to a request of ours; unknown and duplicate response ids are dropped by the channel and counted. */
  stray(message: Notification | Request): Reception;
  /** The process ended, or the channel was cut for good. Requests in flight have failed before. Not called after `close`. */
  lost(failure: Failure): void;
}

export interface Channel {
  /** Whether requests and notifications of the backend come on the stream of the request that they belong to. */
  readonly streamPerRequest: boolean;
  request(outgoing: Outgoing, sink: RequestSink): Pending;
  /** A notification, or our response to an ask. Resolves when it was handed over; rejects with a Failure. */
  post(message: Uint8Array, headers: Readonly<Record<string, string>>): Promise<void>;
  /**
   * Opens the backend's standalone stream where it has one (legacy GET): messages come as strays, it is re-opened with
   * `Last-Event-ID` for as long as the channel lives, and a 405 means that there is none. A channel whose messages come
   * anyway does nothing. Resolves when the backend has answered, whatever it said, or cannot any more; never rejects.
   */
  listen(headers: Readonly<Record<string, string>>, listener: StandaloneListener): Promise<void>;
  /** Ends a legacy HTTP session (DELETE) where one was named; ends nothing else. */
  forget(headers: Readonly<Record<string, string>>): Promise<void>;
  /** While it is wanted, what carries it is not ended for being idle. Absent where nothing is. */
  keepWhile?(wanted: () => boolean): void;
  close(): Promise<void>;
}

/** How the backend's standalone stream fares. */
export interface StandaloneListener {
  opened(): void;
  /** It does not stand: it ended, or could not be opened. It is tried again. */
  away(): void;
  /** It stands, and did not for a while: what the backend said meanwhile was not heard. */
  missed(): void;
  /** It was tried as often as a request would be, in vain. It is tried further, at longer pauses. Called again for each attempt. */
  lost(failure: Failure): void;
  /** The backend offers none. */
  none(): void;
}

/** What a channel noticed and survived, for logs and counters. */
export interface ChannelNotes {
  /** A standalone stream is lost for now. Returns what to call, once, when it is back, or is no longer wanted. */
  streamLost(why: string): (how: 'back' | 'closed') => void;
  /** A line on stdout that is no message, or a message nobody waits for. `text` is cut to a sane length. */
  noise(kind: 'stdout' | 'unknown_id' | 'unreadable' | 'stderr', text: string): void;
  /**
   * The backend sends too much that belongs to no call: it was paused for a while, or ended. `where`: which pipe or
   * stream.
   */
  flood(stage: 'paused' | 'ended', where: string): void;
}
