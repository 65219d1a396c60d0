/**
 * Turns an exception into a failure: a `Failure` as it is, anything else into `internal_error`, with details only in
 * the log.
 */
import { Failure } from '../errors/failure.ts';
import type { IngressNotes } from './events.ts';

export function faultFailure(error: unknown, notes: IngressNotes): Failure {
  if (error instanceof Failure) return error;
  const logId = notes.fault(error);
  return new Failure('internal_error', { cause: error, ...(logId === undefined ? {} : { data: { logId } }) });
}
