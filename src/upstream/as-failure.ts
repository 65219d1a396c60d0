/**
 * Turns anything thrown into a `Failure`. An unnamed error is an internal error of ours: its text goes to the log only.
 */
import { Failure, failures, type Reason } from '../errors/failure.ts';

export function asFailure(cause: unknown): Failure {
  return cause instanceof Failure ? cause : new Failure('internal_error', { cause });
}

/** A class of causes: what clients are told, and what operators can do about it. */
export interface FailureKind {
  readonly why: string;
  readonly cure: string;
}

/** A failure with its class, where that is known. Only the log gets the cause. */
export function failureOfKind(reason: Reason, kind: FailureKind | undefined, cause?: unknown): Failure {
  return new Failure(reason, {
    cause,
    ...(kind && { message: `${failures[reason].message}: ${kind.why}`, cure: kind.cure }),
  });
}
