/** How a decision came about, for the record; and what it is where it is a no. */
import { Failure } from '../errors/failure.ts';

export interface Ruling {
  /** Of the config that decided. */
  readonly generation: number;
  /** The rules that decided, in the order of the file. Empty: no rule spoke of it. */
  readonly rules: readonly string[];
  /** It passed only because rules, or the whole policy, are in audit mode: these would have denied it. Empty: for want of a rule. */
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
