/**
 * A compiled rule, and whether it applies to a question. Whether the rule is about the principal was decided before.
 */
import type { ThingKind } from './actions.ts';
import type { ApprovalDemand } from './approval.ts';
import { compileTests, type TestArguments } from './arguments.ts';
import { areConfusable, hasHints } from './facts.ts';
import { agreed, NameSet, type RuleOutcome, strongest } from './names.ts';
import type { Evaluation } from './question.ts';
import type { Condition, Effect, Hints, Need, On, Rule } from './rules.ts';
import type { Encode } from './spellings.ts';

/** Which credentials `identity` accepts. */
export interface TrustedCredentials {
  readonly keys: boolean;
  /** The number of trusted issuers of tokens, including the bundled one. */
  readonly issuers: number;
  /** All groups that callers can have. Absent: others decide about them, or the files cannot be read. */
  readonly groups?: readonly string[] | undefined;
  /** The names of all keys. Absent: they are not known. */
  readonly keyNames?: readonly string[] | undefined;
}

/** What the config contains that rules can refer to. */
export interface World {
  readonly endpoints: readonly string[];
  readonly backends: readonly string[];
  /** The credentials that clients can have. Undefined: unknown. */
  readonly callers?: TrustedCredentials | undefined;
  /** Undefined: names are never shortened. */
  readonly encode?: Encode | undefined;
  /** Hexadecimal and collision-resistant. Undefined: keys are stored as they are. */
  readonly digest?: ((text: string) => string) | undefined;
}

export interface ReadyRule {
  readonly id: string;
  /** Its position in the file. */
  readonly order: number;
  readonly effect: Effect;
  /** Set for a rule that demands an approval. It is matched like a denial. */
  readonly demand: ApprovalDemand | undefined;
  readonly what: ReadonlySet<string> | undefined;
  readonly endpoints: ReadonlySet<string> | undefined;
  readonly backends: ReadonlySet<string> | undefined;
  /** Undefined: any target, or none. */
  readonly things: ReadonlyMap<ThingKind, NameSet> | undefined;
  readonly hints: Hints | undefined;
  readonly tests: TestArguments | undefined;
  readonly condition: Condition | undefined;
}

export function readyRule(rule: Rule, order: number, world: World): ReadyRule {
  const { on } = rule;
  const effect = rule.effect === 'allow' ? 'allow' : 'deny';
  return {
    id: rule.id,
    order,
    effect,
    demand: rule.approval && { ...rule.approval, rules: [rule.id], text: JSON.stringify(rule) },
    what: rule.what && withTasks(rule.what),
    endpoints: on.endpoints && among(on.endpoints, world.endpoints, 'path'),
    backends: on.backends && among(on.backends, world.backends, 'name'),
    things: thingsIn(on),
    hints: on.annotations,
    tests: compileTests(rule.with, effect),
    condition: rule.when,
  };
}

/** A rule about calls of a tool holds for the tasks that they became. */
function withTasks(what: readonly string[]): ReadonlySet<string> {
  return new Set(what.includes('call') ? [...what, 'task'] : what);
}

function among(patterns: readonly string[], known: readonly string[], style: 'path' | 'name'): ReadonlySet<string> {
  const names = new NameSet(patterns, style);
  return new Set(known.filter((name) => names.has(name) === 'yes'));
}

export function thingsIn(on: On): ReadonlyMap<ThingKind, NameSet> | undefined {
  const { tools, prompts, uris, asks, methods, annotations } = on;
  const things = new Map<ThingKind, NameSet>();
  if (tools !== undefined) things.set('tool', new NameSet(tools, 'name'));
  // Only tools have annotations.
  else if (annotations !== undefined) things.set('tool', new NameSet(['*'], 'name'));
  if (prompts !== undefined) things.set('prompt', new NameSet(prompts, 'name'));
  if (uris !== undefined) {
    const names = new NameSet(uris, 'path');
    things.set('resource', names).set('template', names);
  }
  if (asks !== undefined) things.set('ask', new NameSet(asks, 'name'));
  if (methods !== undefined) things.set('method', new NameSet(methods, 'name'));
  return things.size === 0 ? undefined : things;
}

/** A rule that may apply to a question: none of its parts that need no arguments says no. */
export interface Candidate {
  readonly rule: ReadyRule;
  /** Of those parts. */
  readonly outcomes: Readonly<OutcomeSet>;
  /** Whether there are other parts. */
  readonly isOpen: boolean;
}

/** Undefined if the rule certainly does not apply, whatever the arguments. */
export function candidateOf(rule: ReadyRule, evaluation: Evaluation): Candidate | undefined {
  const outcomes = new OutcomeSet();
  if (!isConcerned(rule, evaluation, outcomes)) return undefined;
  const isOpen = rule.hints !== undefined || rule.tests !== undefined || rule.condition !== undefined;
  return { rule, outcomes, isOpen };
}

export function ruleApplies({ rule, outcomes: settled, isOpen }: Candidate, evaluation: Evaluation): boolean {
  const outcomes = isOpen ? new OutcomeSet(settled) : settled;
  if (isOpen && !holds(rule, evaluation, outcomes as OutcomeSet)) return false;
  // Only what is denied in every case is hidden; only what could be judged is offered.
  return rule.effect === 'deny' ? !outcomes.maybe : !outcomes.failed;
}

/** For rate limits: a limit counts if it might apply, or a different spelling would evade it. */
export function couldApply(rule: ReadyRule, evaluation: Evaluation): boolean {
  const outcomes = new OutcomeSet();
  return isConcerned(rule, evaluation, outcomes) && holds(rule, evaluation, outcomes);
}

/** The outcomes of the parts of a rule. One `no` is enough: then the rule does not apply, whatever else failed. */
class OutcomeSet {
  failed: boolean;
  maybe: boolean;

  constructor(before?: Readonly<OutcomeSet>) {
    this.failed = before?.failed ?? false;
    this.maybe = before?.maybe ?? false;
  }

  /** False once the rule cannot apply. */
  add(outcome: RuleOutcome): boolean {
    if (outcome === 'failed') this.failed = true;
    else if (outcome === 'maybe') this.maybe = true;
    return outcome !== 'no';
  }
}

/** The parts that need neither arguments nor annotations. False once the rule cannot apply. */
function isConcerned(rule: ReadyRule, evaluation: Evaluation, outcomes: OutcomeSet): boolean {
  const { what, endpoints, backends, things } = rule;
  if (what !== undefined && !what.has(evaluation.action)) return false;
  if (endpoints !== undefined && !endpoints.has(evaluation.endpoint)) return false;
  if (backends !== undefined && !outcomes.add(ofBackend(backends, evaluation.backend))) return false;
  return things === undefined || outcomes.add(ofThing(rule.effect, things, evaluation));
}

/** The other parts, the cheap ones first. */
function holds({ effect, hints, tests, condition }: ReadyRule, evaluation: Evaluation, outcomes: OutcomeSet): boolean {
  if (hints !== undefined && evaluation.kind === 'tool' && !outcomes.add(ofHints(hints, evaluation))) return false;
  if (tests !== undefined && !outcomes.add(evaluation.complete ? tests(evaluation.arguments) : 'maybe')) return false;
  return condition === undefined || outcomes.add(ofCondition(effect, condition, evaluation));
}

function ofBackend(backends: ReadonlySet<string>, backend: string): RuleOutcome {
  if (backend === '') return 'maybe';
  return backends.has(backend) ? 'yes' : 'no';
}

function ofThing(effect: Effect, things: ReadonlyMap<ThingKind, NameSet>, evaluation: Evaluation): RuleOutcome {
  const { kind, name } = evaluation;
  const names = kind && things.get(kind);
  if (names === undefined) return 'no';
  if (name === undefined) return 'maybe';
  const spelled = evaluation.spelled(effect);
  const isDenied = effect === 'deny';
  if (kind !== 'template') {
    return isDenied
      ? names.hasAny(spelled.names, spelled.isAmbiguous)
      : names.hasAll(spelled.names, spelled.isAmbiguous);
  }
  const outcomes = spelled.names.map((template) => names.hasTemplate(template, isDenied));
  const outcome = isDenied ? strongest(outcomes) : agreed(outcomes);
  // Completions reveal everything that the template expands to, including what the rule does not cover.
  return outcome === 'maybe' && evaluation.whole ? 'failed' : outcome;
}

function ofHints(hints: Hints, evaluation: Evaluation): RuleOutcome {
  if (evaluation.name === undefined) return 'maybe';
  return hasHints(hints, evaluation.hints) ? 'yes' : 'no';
}

function ofCondition(effect: Effect, condition: Condition, evaluation: Evaluation): RuleOutcome {
  const { reads } = condition;
  // The condition cannot be true, whatever is still unknown.
  for (const need of condition.needs) if (cannotBe(effect, need, evaluation)) return 'no';
  if (!evaluation.complete && reads.has('arguments')) return 'maybe';
  if (reads.has('arguments') && areConfusable(condition.arguments, evaluation.arguments)) return 'failed';
  if (
    evaluation.kind !== undefined &&
    evaluation.name === undefined &&
    (reads.has('name') || reads.has('annotations'))
  ) {
    return 'maybe';
  }
  if (evaluation.backend === '' && reads.has('backend')) return 'maybe';
  if (!reads.has('name')) return asOutcome(condition.evaluate(evaluation));
  const names = evaluation.namesFor(effect);
  if (names === undefined) return 'failed';
  let found: RuleOutcome = 'no';
  for (const name of names) {
    if (found === 'yes') return found;
    const outcome = asOutcome(condition.evaluate(evaluation.called(name)));
    if (outcome !== 'no') found = outcome;
  }
  return found;
}

function asOutcome(isTrue: boolean | undefined): RuleOutcome {
  if (isTrue === undefined) return 'failed';
  return isTrue ? 'yes' : 'no';
}

function cannotBe(effect: Effect, need: Need, evaluation: Evaluation): boolean {
  const { fact, member } = need;
  if (fact === 'name') return evaluation.namesFor(effect)?.includes(need.value) === false;
  const known = evaluation.known({ fact, member });
  return known !== undefined && known !== need.value;
}
