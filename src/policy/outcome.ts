/**
 * What comes of holding a question against a part of a rule. `failed`: it is ambiguous, because it could not be judged or could
 * be read in two ways; then a rule that denies applies and a rule that allows does not. `maybe`: it depends on what the question
 * leaves open.
 */
import type { Effect } from './rules.ts';

export type RuleOutcome = 'yes' | 'no' | 'failed' | 'maybe';

/** Whether a rule applies whose parts came out like this, none of them as `no`: what is certainly not meant is not, whatever else failed. */
export function applies(effect: Effect, outcomes: OutcomeSet): boolean {
  // Hidden is only what is denied in every case; offered is only what could be judged.
  return effect === 'deny' ? !outcomes.maybe : !outcomes.failed;
}

export class OutcomeSet {
  failed = false;
  maybe = false;

  /** False once the rule cannot apply any more. */
  add(outcome: RuleOutcome): boolean {
    if (outcome === 'failed') this.failed = true;
    else if (outcome === 'maybe') this.maybe = true;
    return outcome !== 'no';
  }
}

/** Of several readings of the same thing: agreement, or nobody knows. */
export function agreed(outcomes: readonly RuleOutcome[]): RuleOutcome {
  const [first = 'no'] = outcomes;
  return outcomes.every((outcome) => outcome === first) ? first : 'failed';
}

/** Of several names of the same thing, for a rule that denies: one that is meant is enough. */
export function strongest(outcomes: readonly RuleOutcome[]): RuleOutcome {
  return strength.find((outcome) => outcomes.includes(outcome)) ?? 'no';
}

const strength: readonly RuleOutcome[] = ['yes', 'failed', 'maybe'];
