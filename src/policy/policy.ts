/**
 * Decides questions. Deny overrides allow; what no rule allows is denied, except for open actions. Rules in audit mode
 * decide nothing: the ruling records what they would have done.
 */

import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Principal } from '../identity/principal.ts';
import { type ThingKind, useOf } from './actions.ts';
import { type Case, KnownCases, type RuleTables } from './cases.ts';
import { type Candidate, type ReadyRule, readyRule, ruleApplies, type World } from './match.ts';
import { mint, type Permit } from './mint.ts';
import { type Circumstances, Evaluation, type Looking, type PolicyQuestion, type Thing } from './question.ts';
import type { Mode, PolicySettings } from './rules.ts';
import { Denial, type Ruling } from './ruling.ts';
import type { SecondJudge } from './second-judge.ts';
import { encodePlainly } from './spellings.ts';
import { RuleTable } from './table.ts';
import { compileWho, type IsMeant } from './who.ts';

export type Extent = 'all' | 'some' | 'none';

/** The result of applying the rules. */
interface Judgement {
  readonly allowed: boolean;
  /** How it is recorded, where no rule in audit mode says something else. */
  readonly ruling: Ruling;
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
    return this.#judgement(
      verdict.allowed,
      verdict.allowed ? [...judged.ruling.rules, ...verdict.rules] : verdict.rules,
    );
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
    const allowing =
      firstApplied(found.allow, evaluation) ?? (withAudited ? firstApplied(found.auditedAllow, evaluation) : undefined);
    if (allowing !== undefined) return this.#allowedBy[allowing.order] ?? this.#judgement(true, [allowing.id]);
    return this.#open.has(evaluation.action) ? this.#openly : this.#unspoken;
  }

  #judgement(allowed: boolean, rules: readonly string[]): Judgement {
    return { allowed, ruling: { generation: this.generation, rules } };
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

function idsOf(rules: readonly ReadyRule[]): readonly string[] {
  return [...new Set([...rules].sort((a, b) => a.order - b.order).map(({ id }) => id))];
}

/** Without a policy everything is allowed. */
export function decide(question: PolicyQuestion, generation: number, policy?: Policy): Permit | Denial {
  return policy === undefined ? mint(question.principal.key, question.row.action, generation) : policy.decide(question);
}

/** The rules about a principal, in tables. Principals with the same rules share them. */
interface RuleView {
  readonly deny: RuleTable;
  readonly allow: RuleTable;
  readonly cases: KnownCases;
  /** Whether any of its rules is in audit mode. */
  readonly audited: boolean;
  readonly key: string;
  /** Whether a condition reads the principal, so that two principals with the same rules may see different lists. */
  readonly personal: boolean;
}

interface OwnedRule {
  readonly rule: ReadyRule;
  readonly audited: boolean;
  /** The index of the distinct `who` of the rule; many rules share one. */
  readonly group: number;
}

/** Combinations of rules that are cached. A policy with more has rules for single persons. */
const VIEWS = 1_024;

class RuleViews {
  readonly #rules: readonly OwnedRule[];
  readonly #groups: readonly IsMeant[];
  readonly #byPrincipal = new WeakMap<Principal, RuleView>();
  readonly #byKey = new BoundedMap<RuleView>(VIEWS);
  readonly #persons = new WeakMap<Principal, number>();
  #lastPerson = 0;

  constructor({ rules, groupsClaim }: PolicySettings, world: World) {
    const groups = new Map<string, { readonly at: number; readonly isMeant: IsMeant }>();
    this.#rules = rules.map((rule, order) => {
      const key = JSON.stringify(rule.who);
      const group = groups.get(key) ?? { at: groups.size, isMeant: compileWho(rule.who, groupsClaim) };
      groups.set(key, group);
      return { rule: readyRule(rule, order, world), audited: rule.mode === 'audit', group: group.at };
    });
    this.#groups = [...groups.values()].map(({ isMeant }) => isMeant);
  }

  of(principal: Principal): RuleView {
    const known = this.#byPrincipal.get(principal);
    if (known !== undefined) return known;
    const meant = this.#groups.map((isMeant) => isMeant(principal));
    const key = meant.map((is) => (is ? '1' : '0')).join('');
    const view = this.#byKey.get(key) ?? this.#make(key, meant);
    this.#byPrincipal.set(principal, view);
    return view;
  }

  /** `isPersonal`: principals with the same rules may see different lists. */
  audience(principal: Principal, isPersonal: boolean): string {
    const { key, personal } = this.of(principal);
    if (!personal && !isPersonal) return key;
    const person = this.#persons.get(principal) ?? ++this.#lastPerson;
    this.#persons.set(principal, person);
    return `${key}:${person}`;
  }

  #make(key: string, meant: readonly boolean[]): RuleView {
    const rules = this.#rules.filter(({ group }) => meant[group]);
    const table = (effect: ReadyRule['effect'], audited: boolean) =>
      new RuleTable(
        rules.filter((one) => one.rule.effect === effect && one.audited === audited).map(({ rule }) => rule),
        effect,
      );
    const tables: RuleTables = {
      deny: table('deny', false),
      allow: table('allow', false),
      auditedDeny: table('deny', true),
      auditedAllow: table('allow', true),
    };
    const view: RuleView = {
      deny: tables.deny,
      allow: tables.allow,
      cases: new KnownCases(tables),
      audited: rules.some(({ audited }) => audited),
      key,
      personal: rules.some(({ rule }) => rule.condition?.reads.has('principal')),
    };
    this.#byKey.set(key, view);
    return view;
  }
}
