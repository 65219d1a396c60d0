/** Whatever was thrown, as something that may be told: what has no name is a fault of ours, and its text stays with the log. */
import { Failure } from '../errors/failure.ts';

export function asFailure(cause: unknown): Failure {
  return cause instanceof Failure ? cause : new Failure('internal_error', { cause });
}
