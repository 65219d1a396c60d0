/** How a decision was made, for the audit trail; and the denial itself. */
import { Failure } from '../errors/failure.ts';
import type { RecordedApproval, RecordedDecision } from '../observe/audit.ts';
import { type ApprovalDemand, combinedDemand, type GivenApproval } from './approval.ts';
import type { Permit } from './mint.ts';
import type { RuleEffect } from './rules.ts';

export interface Ruling {
  /** The generation that decided. */
  readonly generation: number;
  /** The rules that decided, in the order of the file. Empty: no rule applied. */
  readonly rules: readonly string[];
  /**
   * It passed only because rules, or the whole policy, are in audit mode: these would have denied it. Empty: no rule
   * allows it.
   */
  readonly wouldDeny?: readonly string[];
  /** It was denied although rules in audit mode would have allowed it. */
  readonly wouldAllow?: readonly string[];
  /** It passed without a question only because of audit mode: these would have asked. */
  readonly wouldAsk?: readonly string[];
  /** Where a person was asked: which step this is. */
  readonly approval?: RecordedApproval;
  /** What decision points outside the gateway answered. */
  readonly decisions?: readonly RecordedDecision[];
}

export class Denial {
  readonly reason = 'policy_denied';
  readonly ruling: Ruling;

  constructor(ruling: Ruling) {
    this.ruling = ruling;
  }

  get rules(): readonly string[] {
    return this.ruling.rules;
  }

  get failure(): Failure {
    return new Failure(this.reason, { data: { rules: this.rules } });
  }
}

/**
 * Denied for now: it is allowed as soon as a person approves it. Whoever knows only denials treats it as one, so no
 * path past the question leads to a backend.
 */
export class ApprovalNeeded extends Denial {
  readonly demand: ApprovalDemand;
  readonly #permit: Permit;

  constructor(permit: Permit, demand: ApprovalDemand) {
    super(permit.ruling ?? { generation: permit.generation, rules: demand.rules });
    this.#permit = permit;
    this.demand = demand;
  }

  override get failure(): Failure {
    return new Failure('approval_needed', { data: { rules: this.demand.rules } });
  }

  and(demand: ApprovalDemand): ApprovalNeeded {
    return new ApprovalNeeded(this.#permit, combinedDemand([this.demand, demand]) ?? demand);
  }

  /** Throws where the approval is of another demand. */
  permitFor({ text }: GivenApproval): Permit {
    if (text !== this.demand.text) throw new TypeError('the approval is of another demand');
    return this.#permit;
  }
}

/** The same, with one more demand: a decision point asks, too. */
export function askingToo(verdict: Permit | ApprovalNeeded, demand: ApprovalDemand): ApprovalNeeded {
  if (!(verdict instanceof ApprovalNeeded)) return new ApprovalNeeded(verdict, demand);
  return verdict.and(demand);
}

/** What was decided, and by which rules. */
export interface RuledBy {
  readonly effect: RuleEffect;
  readonly rules: readonly string[];
}

export function ruledBy(verdict: Permit | Denial): RuledBy {
  return { effect: effectOf(verdict), rules: verdict.ruling?.rules ?? [] };
}

/** The same, of a policy in audit mode: what it would have decided. */
export function meantBy(verdict: Permit | Denial): RuledBy {
  const { wouldDeny, wouldAsk } = verdict.ruling ?? {};
  if (wouldDeny !== undefined) return { effect: 'deny', rules: wouldDeny };
  return wouldAsk === undefined ? ruledBy(verdict) : { effect: 'approval', rules: wouldAsk };
}

export function effectOf(verdict: Permit | Denial): RuleEffect {
  if (verdict instanceof ApprovalNeeded) return 'approval';
  return verdict instanceof Denial ? 'deny' : 'allow';
}

/** What decision points in audit mode would have done, and what all of them answered. */
interface PointAnswers {
  readonly wouldDeny: readonly string[];
  readonly wouldAsk: readonly string[];
  readonly decisions: readonly RecordedDecision[];
}

export function withDecisions(ruling: Ruling, { wouldDeny, wouldAsk, decisions }: PointAnswers): Ruling {
  return {
    ...ruling,
    ...(wouldDeny.length > 0 && { wouldDeny: [...(ruling.wouldDeny ?? []), ...wouldDeny] }),
    ...(wouldAsk.length > 0 && { wouldAsk: [...(ruling.wouldAsk ?? []), ...wouldAsk] }),
    decisions,
  };
}
