/**
 * Arguments that a condition reads differently than a case-insensitive backend: `Force` where the rule says `force`,
 * beside it or instead of it. A condition about such arguments cannot be evaluated. Arguments that no rule reads are
 * ignored.
 */
import { folded, foldedNamesOf, hasOther } from '../wire/fold.ts';
import { isObject } from '../wire/values.ts';
import type { ArgumentPath, ArgumentsRead } from './rules.ts';

/** As much as a condition can read (`facts.ts`). Larger values cannot be evaluated anyway. */
const ENTRIES = 256;
const DEPTH = 16;
const VALUES = 4_096;

export function areConfusable({ paths, names }: ArgumentsRead, values: unknown): boolean {
  const search = new Search(names);
  return paths.some((path) => isConfusableOn(path, values, search));
}

function isConfusableOn({ steps, whole }: ArgumentPath, values: unknown, search: Search): boolean {
  let value = values;
  for (const step of steps) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined;
    else if (!isObject(value)) return false;
    else if (hasOther(value, step)) return true;
    else value = Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return whole && search.finds(value, 0);
}

class Search {
  readonly #names: ReadonlySet<string>;
  readonly #folds: ReadonlySet<string>;
  #left = VALUES;

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
    this.#folds = new Set([...names].map(folded));
  }

  /** Two names that fold to the same, or one that only folds to a name in the condition. */
  finds(value: unknown, depth: number): boolean {
    if (typeof value !== 'object' || value === null) return false;
    const { length } = Object.keys(value);
    this.#left -= length;
    if (length > ENTRIES || depth > DEPTH || this.#left < 0) return true;
    if (!Array.isArray(value)) {
      for (const [fold, name] of foldedNamesOf(value)) {
        if (name === undefined || (this.#folds.has(fold) && !this.#names.has(name))) return true;
      }
    }
    return Object.values(value).some((entry) => this.finds(entry, depth + 1));
  }
}
