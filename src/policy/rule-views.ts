/** The rules about each principal, in tables that are made once for all principals with the same rules. */
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Principal } from '../identity/principal.ts';
import { KnownCases, type RuleTables } from './cases.ts';
import { type ReadyRule, readyRule, type World } from './match.ts';
import type { PolicySettings, RuleEffect } from './rules.ts';
import { RuleTable } from './table.ts';
import { compileWho, type IsMeant } from './who.ts';

/** The rules about a principal, in tables. Principals with the same rules share them. */
export interface RuleView {
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

export class RuleViews {
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
    const table = (effect: RuleEffect, audited: boolean) => {
      const matched = effect === 'allow' ? 'allow' : 'deny';
      const isApproval = effect === 'approval';
      const chosen = rules.filter(
        (one) =>
          one.rule.effect === matched && (one.rule.demand !== undefined) === isApproval && one.audited === audited,
      );
      return new RuleTable(
        chosen.map(({ rule }) => rule),
        matched,
      );
    };
    const tables: RuleTables = {
      deny: table('deny', false),
      allow: table('allow', false),
      auditedDeny: table('deny', true),
      auditedAllow: table('allow', true),
      approval: table('approval', false),
      auditedApproval: table('approval', true),
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
