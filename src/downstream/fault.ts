/** What becomes of an exception: a failure that has a row, or a fault of ours that only the log may know. */
import { Failure } from '../errors/failure.ts';
import type { IngressNotes } from './notes.ts';

export function faultFailure(error: unknown, notes: IngressNotes): Failure {
  if (error instanceof Failure) return error;
  const logId = notes.fault(error);
  return new Failure('internal_error', { cause: error, ...(logId === undefined ? {} : { data: { logId } }) });
}
