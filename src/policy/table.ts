/**
 * Finds the rules that could apply to a question without evaluating the others: by action, then by the target's name.
 * It only preselects; the rule itself decides whether it applies.
 */
import { actions, type ThingKind, thingsOf } from './actions.ts';
import type { ReadyRule } from './match.ts';
import { append, NameIndex, push } from './name-index.ts';
import { isPlainPath } from './paths.ts';
import type { Evaluation } from './question.ts';
import type { Effect, Need } from './rules.ts';

const none: readonly ReadyRule[] = [];

export class RuleTable {
  readonly #byAction: ReadonlyMap<string, ActionTable>;

  constructor(rules: readonly ReadyRule[], effect: Effect) {
    this.#byAction = new Map(
      actions.flatMap((action) => {
        const concerned = rules.filter(({ what }) => what === undefined || what.has(action));
        return concerned.length === 0 ? [] : [[action, new ActionTable(action, concerned, effect)] as const];
      }),
    );
  }

  /** In no particular order; a rule may occur twice. */
  candidates(evaluation: Evaluation): readonly ReadyRule[] {
    return this.#byAction.get(evaluation.action)?.candidates(evaluation) ?? none;
  }

  /** All rules about the action. */
  of(action: string): readonly ReadyRule[] {
    return this.#byAction.get(action)?.all ?? none;
  }
}

class ActionTable {
  readonly all: readonly ReadyRule[];
  readonly #unnamed: NeedTable;
  readonly #named: ReadonlyMap<ThingKind, NameIndex<ReadyRule>>;
  readonly #effect: Effect;

  constructor(action: string, rules: readonly ReadyRule[], effect: Effect) {
    this.all = rules;
    this.#effect = effect;
    this.#unnamed = new NeedTable(
      rules.filter(({ things }) => things === undefined),
      effect,
    );
    this.#named = new Map(
      thingsOf(action).flatMap((kind) => {
        const concerned = rules.filter(({ things }) => things?.has(kind));
        return concerned.length === 0 ? [] : [[kind, indexOf(concerned, kind)] as const];
      }),
    );
  }

  candidates(evaluation: Evaluation): readonly ReadyRule[] {
    const { kind, name } = evaluation;
    const named = kind && this.#named.get(kind);
    if (named === undefined) return this.#unnamed.candidates(evaluation);
    // A template may expand to any name that begins like it.
    if (name === undefined || kind === 'template') return this.all;
    const { names, isAmbiguous } = evaluation.spelled(this.#effect);
    // Every pattern fails for a path that may lead anywhere, and deny rules rely on that.
    if (kind === 'resource' && (isAmbiguous || !names.every(isPlainPath))) return this.all;
    const found = this.#unnamed.candidates(evaluation);
    for (const spelling of names) named.find(spelling, found);
    return found;
  }
}

function indexOf(rules: readonly ReadyRule[], kind: ThingKind): NameIndex<ReadyRule> {
  const patterns = rules.flatMap((rule) => rule.things?.get(kind)?.globs.map((glob) => ({ glob, item: rule })) ?? []);
  return new NameIndex(patterns, kind === 'resource' ? 'path' : 'name');
}

/**
 * Index of rules without names, by what their conditions require: one with `name == 'x' && …` can only be true for `x`,
 * and is not evaluated for other names. If the required fact is unknown, the rule is evaluated.
 */
class NeedTable {
  readonly #always: ReadyRule[] = [];
  readonly #groups = new Map<string, Group>();
  readonly #effect: Effect;

  constructor(rules: readonly ReadyRule[], effect: Effect) {
    this.#effect = effect;
    for (const rule of rules) {
      const need = best(rule.condition?.needs ?? []);
      if (need === undefined) this.#always.push(rule);
      else this.#groupOf(need).add(need.value, rule);
    }
  }

  /** Returns a new list, which the caller may change. */
  candidates(evaluation: Evaluation): ReadyRule[] {
    const found = this.#always.slice();
    for (const group of this.#groups.values()) group.find(evaluation, this.#effect, found);
    return found;
  }

  #groupOf({ fact, member }: Need): Group {
    const key = `${fact}.${member ?? ''}`;
    const group = this.#groups.get(key) ?? new Group({ fact, member });
    this.#groups.set(key, group);
    return group;
  }
}

class Group {
  readonly #of: Pick<Need, 'fact' | 'member'>;
  readonly #all: ReadyRule[] = [];
  readonly #byValue = new Map<string, ReadyRule[]>();

  constructor(of: Pick<Need, 'fact' | 'member'>) {
    this.#of = of;
  }

  add(value: string, rule: ReadyRule): void {
    this.#all.push(rule);
    push(this.#byValue, value, rule);
  }

  find(evaluation: Evaluation, effect: Effect, into: ReadyRule[]): void {
    const { fact, member } = this.#of;
    if (fact === 'name') {
      const names = evaluation.namesFor(effect);
      if (names === undefined) append(into, this.#all);
      else for (const name of names) append(into, this.#byValue.get(name));
      return;
    }
    const value = evaluation.known({ fact, member });
    append(into, value === undefined ? this.#all : this.#byValue.get(value));
  }
}

/** The most selective fact comes first. */
const order: readonly Need['fact'][] = ['name', 'principal', 'backend', 'endpoint', 'kind', 'action'];

function best(needs: readonly Need[]): Need | undefined {
  return [...needs].sort((a, b) => order.indexOf(a.fact) - order.indexOf(b.fact))[0];
}
