/**
 * The outcome of comparing a question with one part of a rule. `failed`: it could not be judged or is ambiguous; then a
 * deny rule applies and an allow rule does not. `maybe`: it depends on what the question leaves open.
 */
import type { Effect } from './rules.ts';

export type RuleOutcome = 'yes' | 'no' | 'failed' | 'maybe';

/**
 * Whether a rule applies, given the outcomes of its parts. None of them is `no`: then the rule does not apply, whatever
 * else failed.
 */
export function applies(effect: Effect, outcomes: OutcomeSet): boolean {
  // Only what is denied in every case is hidden; only what could be judged is offered.
  return effect === 'deny' ? !outcomes.maybe : !outcomes.failed;
}

export class OutcomeSet {
  failed = false;
  maybe = false;

  /** False once the rule cannot apply. */
  add(outcome: RuleOutcome): boolean {
    if (outcome === 'failed') this.failed = true;
    else if (outcome === 'maybe') this.maybe = true;
    return outcome !== 'no';
  }
}

/** For several readings of one target: their common outcome, or `failed`. */
export function agreed(outcomes: readonly RuleOutcome[]): RuleOutcome {
  const [first = 'no'] = outcomes;
  return outcomes.every((outcome) => outcome === first) ? first : 'failed';
}

/** For a deny rule and several names of one target: one match is enough. */
export function strongest(outcomes: readonly RuleOutcome[]): RuleOutcome {
  return strength.find((outcome) => outcomes.includes(outcome)) ?? 'no';
}

const strength: readonly RuleOutcome[] = ['yes', 'failed', 'maybe'];
