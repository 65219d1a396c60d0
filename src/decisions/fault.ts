/** Why a decision point could not decide. The names are in audit records and in docs/policy-decisions.md. */
import { Failure } from '../errors/failure.ts';
import { OutwardError, type OutwardErrorKind } from '../oauth/fetch/errors.ts';

/**
 * - `wrong_status`: neither an answer nor a denial of this protocol.
 * - `question_refused`: a status from 400 to 499, which says that the question is not a good one.
 * - `wrong_type`: the body is not declared as JSON.
 * - `not_json`: the body is no JSON, or nests too deeply.
 * - `duplicate_keys`: an object has two members with one name, so two readers could read two decisions.
 * - `wrong_shape`: the members of the answer are missing, or have other types.
 * - `wrong_id`: the answer belongs to another question.
 * - `circuit_open`: the last questions failed, so this one was not sent.
 * - `question_too_large`: the client's request does not fit into a question.
 * - `too_many_questions`: the principal, or all together, have too many questions waiting.
 * - `waited_too_long`: the time was over before the question had its turn.
 */
export type FaultKind =
  | OutwardErrorKind
  | 'wrong_status'
  | 'wrong_type'
  | 'not_json'
  | 'duplicate_keys'
  | 'wrong_shape'
  | 'wrong_id'
  | 'circuit_open'
  | 'question_too_large'
  | 'question_refused'
  | 'too_many_questions'
  | 'waited_too_long';

/**
 * Faults that a client can cause with its own requests. They deny whatever `onFailure` says: a client must not get
 * past a decision point by asking too much.
 */
const CAUSED_BY_CLIENTS: ReadonlySet<FaultKind> = new Set([
  ...(['question_too_large', 'question_refused', 'too_many_questions', 'waited_too_long'] as const),
  // Our own limit of requests under way.
  'busy',
]);

export class DecisionFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, cause?: unknown) {
    super(kind, cause === undefined ? undefined : { cause });
    this.name = 'DecisionFault';
    this.kind = kind;
  }

  get isOfClient(): boolean {
    return CAUSED_BY_CLIENTS.has(this.kind);
  }

  /** Whether it says something about the state of the decision point. */
  get isOfPoint(): boolean {
    return !this.isOfClient && this.kind !== 'circuit_open';
  }
}

/** For a status that is no answer. */
export function statusFault(status: number): DecisionFault {
  return new DecisionFault(status >= 400 && status < 500 ? 'question_refused' : 'wrong_status');
}

export function asFault(error: unknown): DecisionFault {
  if (error instanceof DecisionFault) return error;
  if (error instanceof OutwardError) return new DecisionFault(error.kind, error);
  if (error instanceof Failure)
    return new DecisionFault(error.reason === 'ambiguous_json' ? 'duplicate_keys' : 'not_json', error);
  return new DecisionFault('address_unreachable', error);
}
