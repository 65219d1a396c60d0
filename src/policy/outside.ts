/**
 * The port of the decision points: services outside the gateway that are asked once the rules have allowed a request.
 * Implemented in decisions/.
 */
import { Failure } from '../errors/failure.ts';
import type { RecordedDecision } from '../observe/audit.ts';
import type { ApprovalDemand } from './approval.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Thing } from './question.ts';
import type { Viewer } from './visibility.ts';

/**
 * What a decision point can answer. Every reader of it treats an effect that it does not know as a denial. `approval`:
 * allowed as soon as a person approves it; a denial, where the config does not say who may.
 */
export type DecisionEffect = 'allow' | 'deny' | 'approval';

export interface OutsideRuling {
  /** Set where the request is denied: by a decision point, or because one did not answer and `onFailure` is `deny`. */
  readonly denial?: OutsideDenial | undefined;
  /** Set where decision points have a person asked. */
  readonly demand?: ApprovalDemand | undefined;
  /** The decision points in audit mode that would have denied it. */
  readonly wouldDeny: readonly string[];
  /** The decision points in audit mode that would have had a person asked. */
  readonly wouldAsk: readonly string[];
  readonly decisions: readonly RecordedDecision[];
}

export interface OutsideDenial {
  readonly point: string;
  /** Why the decision point could not decide. Absent where it denied. */
  readonly fault?: string | undefined;
}

export interface OutsideShown extends Pick<OutsideRuling, 'decisions'> {
  /** By the order of the entries. Undefined where a decision point did not answer and `onFailure` is `deny`. */
  readonly shown: readonly boolean[] | undefined;
  readonly denial?: OutsideDenial | undefined;
}

/** An entry of a list, as the endpoint lists it. */
export interface ListedName {
  readonly name: string;
  readonly backend: string;
}

export interface DecisionPoints {
  concerns(action: string): boolean;
  /** Never rejects. */
  decide(request: AuthorizationRequest): Promise<OutsideRuling>;
  /** Whether lists of this kind are filtered. */
  filters(kind: Thing['kind']): boolean;
  /** Never rejects. */
  show(viewer: Viewer, kind: Thing['kind'], entries: readonly ListedName[]): Promise<OutsideShown>;
  /** Closes as soon as no request is waiting for a decision. Every question has a time limit, so that moment comes. */
  retire(): Promise<void>;
  /** Questions under way fail. */
  close(): Promise<void>;
}

/** The failure for clients. The reason of a fault is for operators: they find it in the audit record and the log. */
export function outsideFailure({ point, fault }: OutsideDenial): Failure {
  const data = { rules: [], decisionPoint: point };
  return fault === undefined
    ? new Failure('policy_denied', { data })
    : new Failure('decision_unavailable', { data, cause: new Error(`${point}: ${fault}`) });
}
