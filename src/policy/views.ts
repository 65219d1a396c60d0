/** The rules about a principal, in tables. Principals with the same rules share them. */
import type { Principal } from '../identity/principal.ts';
import type { ReadyRule } from './match.ts';
import { RuleTable } from './table.ts';
import type { IsMeant } from './who.ts';

export interface RuleView {
  readonly deny: RuleTable;
  readonly allow: RuleTable;
  readonly auditedDeny: RuleTable;
  readonly auditedAllow: RuleTable;
  /** Whether any of its rules is in audit mode. */
  readonly audited: boolean;
  readonly key: string;
  /** Whether a condition reads the principal, so that two principals with the same rules may see different lists. */
  readonly personal: boolean;
}

export interface OwnedRule {
  readonly rule: ReadyRule;
  readonly audited: boolean;
  /** The index in `groups` of the principals that the rule is about. */
  readonly group: number;
}

/**
 * Combinations of rules that are cached. Beyond this the cache is cleared; a policy with more has rules for single
 * persons.
 */
const VIEWS = 1_024;

export class RuleViews {
  readonly #rules: readonly OwnedRule[];
  readonly #groups: readonly IsMeant[];
  readonly #byPrincipal = new WeakMap<Principal, RuleView>();
  readonly #byKey = new Map<string, RuleView>();
  readonly #persons = new WeakMap<Principal, number>();
  #lastPerson = 0;

  /** `groups` are the distinct `who` parts; many rules share one. */
  constructor(rules: readonly OwnedRule[], groups: readonly IsMeant[]) {
    this.#rules = rules;
    this.#groups = groups;
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

  audience(principal: Principal): string {
    const { key, personal } = this.of(principal);
    if (!personal) return key;
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
    const view: RuleView = {
      deny: table('deny', false),
      allow: table('allow', false),
      auditedDeny: table('deny', true),
      auditedAllow: table('allow', true),
      audited: rules.some(({ audited }) => audited),
      key,
      personal: rules.some(({ rule }) => rule.condition?.reads.has('principal')),
    };
    if (this.#byKey.size >= VIEWS) this.#byKey.clear();
    this.#byKey.set(key, view);
    return view;
  }
}
