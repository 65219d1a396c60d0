/** How a decision was made, for the audit trail; and the denial itself. */
import { Failure } from '../errors/failure.ts';
import type { RecordedDecision } from '../observe/audit.ts';

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

/** `wouldDeny`: the decision points in audit mode that would have denied it. */
export function withDecisions(
  ruling: Ruling,
  wouldDeny: readonly string[],
  decisions: readonly RecordedDecision[],
): Ruling {
  if (wouldDeny.length === 0) return { ...ruling, decisions };
  return { ...ruling, wouldDeny: [...(ruling.wouldDeny ?? []), ...wouldDeny], decisions };
}
