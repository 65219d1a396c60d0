/**
 * Decides questions. Deny overrides allow; what no rule allows is denied, except for open actions. Rules in audit mode
 * decide nothing: the ruling records what they would have done.
 */
import type { Principal } from '../identity/principal.ts';
import { type ThingKind, useOf } from './actions.ts';
import { type ReadyRule, ruleApplies } from './match.ts';
import { mint, type Permit } from './mint.ts';
import { type Circumstances, Evaluation, type Looking, type PolicyQuestion, type Thing } from './question.ts';
import type { Mode } from './rules.ts';
import { Denial, type Ruling } from './ruling.ts';
import type { RuleView, RuleViews } from './views.ts';

/** An entry of a list that is about to be shown to a principal. */
export interface ShownThing extends Circumstances {
  readonly thing: Thing & { readonly name: string };
}

export type Extent = 'all' | 'some' | 'none';

export interface PolicyParts extends Looking {
  readonly generation: number;
  readonly mode: Mode;
  readonly open: ReadonlySet<string>;
  readonly views: RuleViews;
  /** Whether some rule reads tool annotations. */
  readonly readsAnnotations: boolean;
}

/** The result of applying the rules. */
interface Judgement {
  readonly allowed: boolean;
  readonly rules: readonly string[];
}

export class Policy {
  readonly generation: number;
  readonly mode: Mode;
  readonly #open: ReadonlySet<string>;
  readonly #views: RuleViews;
  readonly #looking: Looking;
  readonly #readsAnnotations: boolean;

  constructor({ generation, mode, open, views, groupsClaim, trusted, encode, readsAnnotations }: PolicyParts) {
    this.generation = generation;
    this.mode = mode;
    this.#open = open;
    this.#views = views;
    this.#looking = { groupsClaim, trusted, encode };
    this.#readsAnnotations = readsAnnotations;
  }

  decide(question: PolicyQuestion): Permit | Denial {
    const { action } = question.row;
    const view = this.#views.of(question.principal);
    const evaluation = new Evaluation(action, question, 'all', this.#looking);
    const judged = this.#judge(view, evaluation, false);
    const trial = this.mode === 'audit' || view.audited ? this.#judge(view, evaluation, true) : judged;
    const allowed = this.mode === 'audit' || judged.allowed;
    const ruling = this.#ruling(allowed, judged, trial);
    return allowed ? mint(question.principal.key, action, this.generation, ruling) : new Denial(ruling);
  }

  /**
   * Whether a list shows an entry to a principal: the principal may list it, and may use it with some arguments. Tests
   * and conditions about arguments are decided in favour of the principal.
   */
  shows(shown: ShownThing): boolean {
    return this.#may('list', shown) && this.#may(useOf[shown.thing.kind], shown);
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
    return extents.includes('some') ? 'some' : 'all';
  }

  /** Equal for principals that see the same: a list made for one of them may be given to the others. */
  audience(principal: Principal): string {
    return this.mode === 'audit' ? 'everybody' : this.#views.audience(principal);
  }

  /** Whether this backend's tool annotations can change a decision. */
  readsAnnotations(backend: string): boolean {
    return this.#readsAnnotations && this.#looking.trusted.has(backend);
  }

  #may(action: string, shown: Circumstances): boolean {
    if (this.mode === 'audit') return true;
    const evaluation = new Evaluation(action, shown, 'entry', this.#looking);
    return this.#judge(this.#views.of(shown.principal), evaluation, false).allowed;
  }

  #judge(view: RuleView, evaluation: Evaluation, withAudited: boolean): Judgement {
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
    let denying = applied(view.deny.candidates(evaluation), evaluation);
    if (withAudited) denying = denying.concat(applied(view.auditedDeny.candidates(evaluation), evaluation));
    if (denying.length > 0) return { allowed: false, rules: idsOf(denying) };
    const allowing =
      firstApplied(view.allow.candidates(evaluation), evaluation) ??
      (withAudited ? firstApplied(view.auditedAllow.candidates(evaluation), evaluation) : undefined);
    if (allowing !== undefined) return { allowed: true, rules: [allowing.id] };
    return this.#open.has(evaluation.action) ? openly : unspoken;
  }

  #ruling(allowed: boolean, judged: Judgement, trial: Judgement): Ruling {
    const { generation } = this;
    if (trial.allowed === allowed)
      return { generation, rules: allowed === judged.allowed ? judged.rules : trial.rules };
    const rules = allowed === judged.allowed ? judged.rules : [];
    return trial.allowed
      ? { generation, rules, wouldAllow: trial.rules }
      : { generation, rules, wouldDeny: trial.rules };
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
const openly: Judgement = { allowed: true, rules: [] };
const unspoken: Judgement = { allowed: false, rules: [] };

function applied(candidates: readonly ReadyRule[], evaluation: Evaluation): readonly ReadyRule[] {
  return candidates.filter((rule) => ruleApplies(rule, evaluation));
}

/** The first in the file, so that the same question always reports the same rule. */
function firstApplied(candidates: readonly ReadyRule[], evaluation: Evaluation): ReadyRule | undefined {
  let first: ReadyRule | undefined;
  for (const rule of candidates) {
    if ((first === undefined || rule.order < first.order) && ruleApplies(rule, evaluation)) first = rule;
  }
  return first;
}

function idsOf(rules: readonly ReadyRule[]): readonly string[] {
  return [...new Set([...rules].sort((a, b) => a.order - b.order).map(({ id }) => id))];
}
