import { Failure } from '../errors/failure.ts';

/** Where a refused request came from, and what it was sent to. */
export interface RefusedSender {
  readonly address: string;
  /** Without the query, which may hold a key. */
  readonly path: string;
}

/** Events in the transports that were handled, for logs and counters. */
export interface IngressNotes {
  /** A reader was too slow for a message that may be dropped. */
  dropped(urgency: 'progress' | 'log'): void;
  /** A reader read nothing for so long that its connection was cut. */
  cutOff(): void;
  /** A `Host` that is not ours: behind a proxy, usually a missing setting. */
  hostRefused(host: string): void;
  /** A page of an origin that is not allowed. */
  originRefused(origin: string, failure: Failure, address: string | undefined): void;
  /** A connection over the limit was refused. */
  connectionRefused(): void;
  /** A response reports a failure. `from` is called where the sender is needed. */
  failed(failure: Failure, from: () => RefusedSender): void;
  /** An unexpected error of ours. Returns its id in the log, for `data.logId`. */
  fault(error: unknown): string | undefined;
}

/**
 * Turns an exception into a failure: a `Failure` as it is, anything else into `internal_error`, with details only in
 * the log.
 */
export function faultFailure(error: unknown, notes: IngressNotes): Failure {
  if (error instanceof Failure) return error;
  const logId = notes.fault(error);
  return new Failure('internal_error', { cause: error, ...(logId === undefined ? {} : { data: { logId } }) });
}
