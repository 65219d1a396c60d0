/**
 * Index of rules without names, by what their conditions require: one with `name == 'x' && …` can only be true for `x`,
 * and is not evaluated for other names. If the required fact is unknown, the rule is evaluated.
 */
import type { ReadyRule } from './match.ts';
import type { Evaluation } from './question.ts';
import type { Effect, Need } from './rules.ts';

export class NeedTable {
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
    const same = this.#byValue.get(value);
    if (same === undefined) this.#byValue.set(value, [rule]);
    else same.push(rule);
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

function append(into: ReadyRule[], rules: readonly ReadyRule[] | undefined): void {
  if (rules !== undefined) for (const rule of rules) into.push(rule);
}

/** The most selective fact comes first. */
const order: readonly Need['fact'][] = ['name', 'principal', 'backend', 'endpoint', 'kind', 'action'];

function best(needs: readonly Need[]): Need | undefined {
  return [...needs].sort((a, b) => order.indexOf(a.fact) - order.indexOf(b.fact))[0];
}
