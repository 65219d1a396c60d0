/**
 * Arguments that a condition would read in one way and a backend that ignores the case of names in another: `Force` where the
 * rule says `force`, beside it or in its place. A condition about them cannot be judged. What no rule looks at is data.
 */
import { folded, foldedNamesOf, hasOther } from '../wire/fold.ts';
import { isObject } from '../wire/values.ts';
import type { ArgumentPath, ArgumentsRead } from './rules.ts';

/** As much as a condition can look at (`facts.ts`): beyond it cannot be judged anyway. */
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

  /** Two names that fold to one, or one that folds to a name of the condition and is not it. */
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
