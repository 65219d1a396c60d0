/**
 * Turns anything thrown into a `Failure`. An unnamed error is an internal error of ours: its text goes to the log only.
 */
import { Failure } from '../errors/failure.ts';

export function asFailure(cause: unknown): Failure {
  return cause instanceof Failure ? cause : new Failure('internal_error', { cause });
}

/** A class of causes: what clients are told, and what operators can do about it. */
export interface FailureKind {
  readonly why: string;
  readonly cure: string;
}
