/**
 * The port of the decision points: services outside the gateway that are asked once the rules have allowed a request.
 * Implemented in decisions/.
 */
import { Failure } from '../errors/failure.ts';
import type { RecordedDecision } from '../observe/audit.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Viewer } from './authorizer.ts';
import type { Thing } from './question.ts';

/** What a decision point can answer. Every reader of it treats an effect that it does not know as a denial. */
export type DecisionEffect = 'allow' | 'deny';

export interface OutsideRuling {
  /** Set where the request is denied: by a decision point, or because one did not answer and `onFailure` is `deny`. */
  readonly denial?: OutsideDenial | undefined;
  /** The decision points in audit mode that would have denied it. */
  readonly wouldDeny: readonly string[];
  readonly decisions: readonly RecordedDecision[];
}

export interface OutsideDenial {
  readonly point: string;
  /** Why the decision point could not decide. Absent where it denied. */
  readonly fault?: string | undefined;
}

export interface OutsideShown extends Omit<OutsideRuling, 'denial'> {
  /** By the order of the entries. Undefined where a decision point did not answer and `onFailure` is `deny`. */
  readonly shown: readonly boolean[] | undefined;
  readonly denial?: OutsideDenial | undefined;
}

export interface DecisionPoints {
  concerns(action: string): boolean;
  /** Never rejects. */
  decide(request: AuthorizationRequest): Promise<OutsideRuling>;
  /** Whether lists of this kind are filtered. */
  filters(kind: Thing['kind']): boolean;
  /** Never rejects. `names` are as the endpoint lists them. */
  show(viewer: Viewer, backend: string, kind: Thing['kind'], names: readonly string[]): Promise<OutsideShown>;
  close(): Promise<void>;
}

/** The failure for clients. The reason of a fault is for operators: they find it in the audit record and the log. */
export function outsideFailure({ point, fault }: OutsideDenial): Failure {
  const data = { rules: [], decisionPoint: point };
  return fault === undefined
    ? new Failure('policy_denied', { data })
    : new Failure('decision_unavailable', { data, cause: new Error(`${point}: ${fault}`) });
}
