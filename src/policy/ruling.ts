/** How a decision was made, for the audit trail; and the denial itself. */
import { Failure } from '../errors/failure.ts';

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
