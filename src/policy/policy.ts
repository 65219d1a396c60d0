/**
 * Decides questions. Deny overrides allow; what no rule allows is denied, except for open actions. Rules in audit mode
 * decide nothing: the ruling records what they would have done.
 */

import type { Principal } from '../identity/principal.ts';
import { type ThingKind, useOf } from './actions.ts';
import { type ApprovalDemand, combinedDemand } from './approval.ts';
import type { Case } from './cases.ts';
import { type Candidate, type ReadyRule, ruleApplies, type World } from './match.ts';
import { mint, type Permit } from './mint.ts';
import { type Circumstances, Evaluation, type Looking, type PolicyQuestion, type Thing } from './question.ts';
import { type RuleView, RuleViews } from './rule-views.ts';
import type { Mode, PolicySettings } from './rules.ts';
import { ApprovalNeeded, Denial, type Ruling } from './ruling.ts';
import type { SecondJudge } from './second-judge.ts';
import { encodePlainly } from './spellings.ts';

export type Extent = 'all' | 'some' | 'none';

/** The result of applying the rules. */
interface Judgement {
  readonly allowed: boolean;
  /** How it is recorded, where no rule in audit mode says something else. */
  readonly ruling: Ruling;
  /** Set where it is allowed on the condition that a person approves it. */
  readonly demand?: ApprovalDemand | undefined;
}

export class Policy {
  readonly generation: number;
  readonly mode: Mode;
  readonly #open: ReadonlySet<string>;
  readonly #views: RuleViews;
  readonly #looking: Looking;
  /** Decides about what the rules have allowed. */
  readonly #second: SecondJudge | undefined;
  /** Whether some rule reads tool annotations. */
  readonly #readsAnnotations: boolean;
  readonly #openly: Judgement;
  readonly #unspoken: Judgement;
  /** What each rule allows by itself, by its order. */
  readonly #allowedBy: readonly Judgement[];

  /** Compiles the settings, once per generation. */
  constructor(settings: PolicySettings, world: World, generation: number, second?: SecondJudge | undefined) {
    const { mode, open, groupsClaim, trustAnnotationsOf, rules } = settings;
    this.generation = generation;
    this.mode = mode;
    this.#second = second;
    this.#open = new Set(open);
    this.#openly = this.#judgement(true, []);
    this.#unspoken = this.#judgement(false, []);
    this.#allowedBy = rules.map(({ id }) => this.#judgement(true, [id]));
    this.#views = new RuleViews(settings, world);
    this.#looking = { groupsClaim, trusted: new Set(trustAnnotationsOf), encode: world.encode ?? encodePlainly };
    this.#readsAnnotations =
      second?.readsAnnotations === true ||
      rules.some(({ on, when }) => on.annotations !== undefined || when?.reads.has('annotations'));
  }

  decide(question: PolicyQuestion): Permit | Denial {
    const { action } = question.row;
    const view = this.#views.of(question.principal);
    // The arguments of a task were judged when it was made, and a person has approved them where a rule demands that.
    const isTask = action === 'task';
    const evaluation = new Evaluation(action, question, isTask ? 'thing' : 'all', this.#looking);
    const judged = this.#judge(view, evaluation, false);
    const trial = this.mode === 'audit' || view.audited ? this.#judge(view, evaluation, true) : judged;
    const allowed = this.mode === 'audit' || judged.allowed;
    const ruling = this.#ruling(allowed, judged, trial);
    if (!allowed) return new Denial(ruling);
    const demand = this.mode === 'audit' || isTask ? undefined : judged.demand;
    const permit = mint(question.principal.key, action, this.generation, withAsking(ruling, demand, trial.demand));
    return demand === undefined ? permit : new ApprovalNeeded(permit, demand);
  }

  /**
   * Whether a list shows an entry to a principal: the principal may list it, and may use it with some arguments. Tests
   * and conditions about arguments are decided in favour of the principal.
   */
  shows(shown: Circumstances & { readonly thing: Thing }): boolean {
    return this.hiding(shown) === undefined;
  }

  /** What hides an entry: the rules that deny it, or none where no rule allows it. Undefined where it is shown. */
  hiding(shown: Circumstances & { readonly thing: Thing }): readonly string[] | undefined {
    return this.#against('list', shown) ?? this.#against(useOf[shown.thing.kind], shown);
  }

  /** The same for a whole list of one backend: `all` and `none` make checking each entry unnecessary. */
  extent(
    principal: Principal,
    kind: ThingKind,
    { endpoint, backend }: Pick<Circumstances, 'endpoint' | 'backend'>,
  ): Extent {
    if (this.mode === 'audit') return 'all';
    const view = this.#views.of(principal);
    const extents = (['list', useOf[kind]] as const).map((action) =>
      this.#extent(view, action, kind, endpoint, backend),
    );
    if (extents.includes('none')) return 'none';
    return extents.includes('some') || this.#second !== undefined ? 'some' : 'all';
  }

  /** Equal for principals that see the same: a list made for one of them may be given to the others. */
  audience(principal: Principal): string {
    return this.mode === 'audit' ? 'everybody' : this.#views.audience(principal, this.#second !== undefined);
  }

  /** Whether this backend's tool annotations can change a decision. */
  readsAnnotations(backend: string): boolean {
    return this.#readsAnnotations && this.#looking.trusted.has(backend);
  }

  #against(action: string, shown: Circumstances): readonly string[] | undefined {
    if (this.mode === 'audit') return undefined;
    const evaluation = new Evaluation(action, shown, 'entry', this.#looking);
    const { allowed, ruling } = this.#judge(this.#views.of(shown.principal), evaluation, false);
    return allowed ? undefined : ruling.rules;
  }

  #judge(view: RuleView, evaluation: Evaluation, withAudited: boolean): Judgement {
    const judged = this.#judgeByRules(view, evaluation, withAudited);
    const verdict = judged.allowed ? this.#second?.judge(evaluation) : undefined;
    if (verdict === undefined) return judged;
    if (!verdict.allowed) return this.#judgement(false, verdict.rules);
    return this.#judgement(true, [...judged.ruling.rules, ...verdict.rules], judged.demand);
  }

  #judgeByRules(view: RuleView, evaluation: Evaluation, withAudited: boolean): Judgement {
    const judged = this.#apply(view, evaluation, withAudited);
    if (!judged.allowed || !dependents.has(evaluation.action)) return judged;
    // A principal that may not use a target gets neither its completions nor its changes.
    const { kind, name, also, own, endpoint, backend, principal } = evaluation;
    if (kind === undefined || name === undefined) return judged;
    const thing = { kind, name, also, own };
    const use = new Evaluation(useOf[kind], { principal, endpoint, backend, thing }, 'thing', this.#looking);
    const usable = this.#apply(view, use, withAudited);
    return usable.allowed ? judged : usable;
  }

  #apply(view: RuleView, evaluation: Evaluation, withAudited: boolean): Judgement {
    const found = caseOf(view, evaluation);
    let denying = applied(found.deny, evaluation);
    if (withAudited) denying = denying.concat(applied(found.auditedDeny, evaluation));
    if (denying.length > 0) return this.#judgement(false, idsOf(denying));
    const judged = this.#allowing(found, evaluation, withAudited);
    // Most policies have no such rules.
    if (!judged.allowed || found.approval.length + found.auditedApproval.length === 0) return judged;
    let asking = applied(found.approval, evaluation);
    if (withAudited) asking = asking.concat(applied(found.auditedApproval, evaluation));
    return asking.length === 0 ? judged : this.#judgement(true, judged.ruling.rules, demandOf(asking));
  }

  #allowing(found: Case, evaluation: Evaluation, withAudited: boolean): Judgement {
    const allowing =
      firstApplied(found.allow, evaluation) ?? (withAudited ? firstApplied(found.auditedAllow, evaluation) : undefined);
    if (allowing !== undefined) return this.#allowedBy[allowing.order] ?? this.#judgement(true, [allowing.id]);
    return this.#open.has(evaluation.action) ? this.#openly : this.#unspoken;
  }

  #judgement(allowed: boolean, rules: readonly string[], demand?: ApprovalDemand): Judgement {
    return { allowed, ruling: { generation: this.generation, rules }, demand };
  }

  #ruling(allowed: boolean, judged: Judgement, trial: Judgement): Ruling {
    if (trial.allowed === allowed) return allowed === judged.allowed ? judged.ruling : trial.ruling;
    const { generation } = this;
    const rules = allowed === judged.allowed ? judged.ruling.rules : [];
    return trial.allowed
      ? { generation, rules, wouldAllow: trial.ruling.rules }
      : { generation, rules, wouldDeny: trial.ruling.rules };
  }

  #extent(view: RuleView, action: string, kind: ThingKind, endpoint: string, backend: string): Extent {
    const concerns = (rule: ReadyRule) =>
      (rule.things === undefined || rule.things.has(kind)) &&
      (rule.endpoints?.has(endpoint) ?? true) &&
      (backend === '' || (rule.backends?.has(backend) ?? true));
    const denies = view.deny.of(action).some(concerns);
    const allows = view.allow.of(action).filter(concerns);
    const unconditional = ({ things, backends, hints, tests, condition }: ReadyRule) =>
      [things, hints, tests, condition].every((part) => part === undefined) &&
      (backends === undefined || backend !== '');
    if (this.#open.has(action) || allows.some(unconditional)) return denies ? 'some' : 'all';
    return allows.length === 0 ? 'none' : 'some';
  }
}

const dependents: ReadonlySet<string> = new Set(['complete', 'subscribe']);
const none: readonly ReadyRule[] = [];

/** What a condition says of the principal may select rules: then the same name is not the same case. */
function caseOf({ personal, cases }: RuleView, evaluation: Evaluation): Case {
  return evaluation.complete && !personal ? cases.of(evaluation) : cases.make(evaluation);
}

function applied(candidates: readonly Candidate[], evaluation: Evaluation): readonly ReadyRule[] {
  let found: ReadyRule[] | undefined;
  for (const candidate of candidates) {
    if (!ruleApplies(candidate, evaluation)) continue;
    found ??= [];
    found.push(candidate.rule);
  }
  return found ?? none;
}

/** The first in the file, so that the same question always reports the same rule. */
function firstApplied(candidates: readonly Candidate[], evaluation: Evaluation): ReadyRule | undefined {
  for (const candidate of candidates) if (ruleApplies(candidate, evaluation)) return candidate.rule;
  return undefined;
}

function demandOf(rules: readonly ReadyRule[]): ApprovalDemand | undefined {
  const ordered = [...rules].sort((a, b) => a.order - b.order);
  return combinedDemand(ordered.flatMap(({ demand }) => demand ?? []));
}

/** The ruling with the rules that ask, and with those that only audit mode keeps from asking. */
function withAsking(ruling: Ruling, demand: ApprovalDemand | undefined, trial: ApprovalDemand | undefined): Ruling {
  const asking = demand?.rules ?? [];
  const wouldAsk = trial?.rules.filter((id) => !asking.includes(id)) ?? [];
  if (asking.length + wouldAsk.length === 0) return ruling;
  return { ...ruling, rules: [...ruling.rules, ...asking], ...(wouldAsk.length > 0 && { wouldAsk }) };
}

function idsOf(rules: readonly ReadyRule[]): readonly string[] {
  return [...new Set([...rules].sort((a, b) => a.order - b.order).map(({ id }) => id))];
}

/** Without a policy everything is allowed. */
export function decide(question: PolicyQuestion, generation: number, policy?: Policy): Permit | Denial {
  return policy === undefined ? mint(question.principal.key, question.row.action, generation) : policy.decide(question);
}
