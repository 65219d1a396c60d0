/** The port of a protocol that decision points speak. */
import type { AuthorizationRequest } from '../policy/authorization-request.ts';
import type { DecisionEffect, ListedName } from '../policy/outside.ts';
import type { Thing } from '../policy/question.ts';
import type { Viewer } from '../policy/visibility.ts';

export interface ProtocolAnswer<D> {
  readonly decision: D;
  /** By which the decision point can find the decision again. */
  readonly id?: string | undefined;
}

/** `approval`: what the answer says beside a denial. A point that does not know approvals denies. */
export function effectOf(isAllowed: boolean, approval: unknown): DecisionEffect {
  if (isAllowed) return 'allow';
  return approval === true ? 'approval' : 'deny';
}

/** The entries of a list, of one kind. */
export interface ListQuestion extends Viewer {
  readonly kind: Thing['kind'];
  readonly entries: readonly ListedName[];
}

/** Each function rejects with a DecisionFault, a Failure or an OutwardError where there is no valid answer. */
export interface DecisionProtocol {
  decide(request: AuthorizationRequest, signal: AbortSignal): Promise<ProtocolAnswer<DecisionEffect>>;
  /** One question for all entries. Absent where the protocol has none, or where lists are not filtered. */
  show?(question: ListQuestion, signal: AbortSignal): Promise<ProtocolAnswer<readonly boolean[]>>;
}
