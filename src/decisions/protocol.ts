/** The port of a protocol that decision points speak. */
import type { AuthorizationRequest } from '../policy/authorization-request.ts';
import type { Viewer } from '../policy/authorizer.ts';
import type { DecisionEffect } from '../policy/outside.ts';
import type { Thing } from '../policy/question.ts';

export interface ProtocolAnswer<D> {
  readonly decision: D;
  /** By which the decision point can find the decision again. */
  readonly id?: string | undefined;
}

/** The entries of a list, of one kind and one backend. */
export interface ListQuestion extends Viewer {
  readonly backend: string;
  readonly kind: Thing['kind'];
  readonly names: readonly string[];
}

/** Each function rejects with a DecisionFault, a Failure or an OutwardError where there is no valid answer. */
export interface DecisionProtocol {
  decide(request: AuthorizationRequest, signal: AbortSignal): Promise<ProtocolAnswer<DecisionEffect>>;
  /** One question for all entries. Absent where the protocol has none, or where lists are not filtered. */
  show?(question: ListQuestion, signal: AbortSignal): Promise<ProtocolAnswer<readonly boolean[]>>;
}
