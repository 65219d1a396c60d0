/**
 * Names that are the same to some readers of JSON. Go's `encoding/json`, System.Text.Json and others match the names of
 * members without regard to case, some of them in all of Unicode, and the last one wins: to them `Method` is `method`.
 */

/**
 * Equal for two names that are equal after simple case folding, or after `toUpperCase().toLowerCase()`. Lower case comes
 * first because capital letters exist that are upper case already and fold to another letter: the Kelvin sign to `k`,
 * the capital sharp s to `ß`. Upper case then unites small letters that share a capital: the long s and `s`.
 */
export function folded(name: string): string {
  return name.toLowerCase().toUpperCase();
}

/** Words by what they fold to. */
export type Folds = ReadonlyMap<string, string>;

export function foldsOf(words: readonly string[]): Folds {
  return new Map(words.map((word) => [folded(word), word]));
}

/** The word that a reader may take the name for; undefined where there is none, and where the name is the word itself. */
export function takenFor(folds: Folds, name: string): string | undefined {
  const word = folds.get(folded(name));
  return word === name ? undefined : word;
}

/** The names of an object by what they fold to; undefined where there are several. */
export type FoldedNames = ReadonlyMap<string, string | undefined>;

const foldedNames = new WeakMap<object, FoldedNames>();

/** Kept as long as the object is: many rules look at the same arguments. */
export function foldedNamesOf(object: object): FoldedNames {
  const kept = foldedNames.get(object);
  if (kept !== undefined) return kept;
  const names = new Map<string, string | undefined>();
  for (const name of Object.keys(object)) {
    const fold = folded(name);
    names.set(fold, names.has(fold) ? undefined : name);
  }
  foldedNames.set(object, names);
  return names;
}

/** Whether the object has another member that a reader may take for the one of that name, beside it or in its place. */
export function hasOther(object: object, name: string): boolean {
  const names = foldedNamesOf(object);
  const fold = folded(name);
  return names.has(fold) && names.get(fold) !== name;
}
