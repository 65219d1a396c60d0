/**
 * Ports of distributed traces. Absent where traces are not configured: trace context then passes through the gateway
 * like every other member of `_meta`. Implemented in observe/traces.
 */

import type { Failure } from '../errors/failure.ts';
import type { Notification, Request, Response } from '../wire/message.ts';
import type { TraceFields } from '../wire/trace-fields.ts';
import type { ServerRequestReply } from './call.ts';

/** The trace that a message belongs to. */
export interface Trace extends AskTrace {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** Whether the trace is exported. */
  readonly isSampled: boolean;
}

/** Gives each message of a client its place in a trace. Never throws. */
export interface MessageTracer<Context> {
  trace(context: Context): Trace;
}

/** The place of a message to a backend. */
export interface SentTrace {
  /** What the backend is told instead of what the client sent. Absent: it is told nothing. */
  readonly fields: TraceFields | undefined;
}

/** Gives each message to one backend its place in the trace that it belongs to. Never throws. */
export interface BackendTracer {
  /** Without a trace, the request is the gateway's own, and begins one. */
  request(trace: Trace | undefined): SentTrace;
  /** The gateway sends `initialize` or `server/discover` now. Returns what is told of its end, once. */
  opening(method: string, id: string): ToldOpening;
  /** The notification is sent now. */
  notification(trace: Trace, notification: Notification): SentTrace;
  /** A server request arrived during the call that was sent with `call`. */
  asked(call: SentTrace, message: Request): ReceivedAsk | undefined;
}

/** Is told of the response to an opening request, or why there is none. */
export type ToldOpening = (answer: Response | Failure) => void;

/** What a server request belongs to. */
export interface AskTrace {
  /** The server request is sent to a client now. */
  relayed(message: Request): SentAsk;
}

/** A server request of a legacy backend. */
export interface ReceivedAsk extends AskTrace {
  /** Without a reply where the backend gets none. */
  ended(reply: ServerRequestReply | undefined): void;
}

/** A server request at a client. */
export interface SentAsk {
  readonly fields: TraceFields;
  /** Without a reply where the server request was withdrawn. */
  ended(reply: ServerRequestReply | undefined): void;
}
