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

/** Words of ASCII by what they fold to. */
export interface Folds {
  readonly words: ReadonlyMap<string, string>;
  readonly exact: ReadonlySet<string>;
  readonly longest: number;
}

export function foldsOf(words: readonly string[]): Folds {
  return {
    words: new Map(words.map((word) => [folded(word), word])),
    exact: new Set(words),
    longest: Math.max(0, ...words.map((word) => word.length)),
  };
}

/** ASCII, and every character beyond it that folds to ASCII: the sharp s, the dotless i, the Kelvin sign, ligatures. */
const foldsToAscii = /^[\p{ASCII}\u00df\u0131\u017f\u1e9e\u212a\ufb00-\ufb06]*$/u;

/**
 * The word that a reader may take the name for; undefined where there is none, and where the name is the word itself.
 * Folding is dear, makes no name shorter, and is left out where it cannot give a word.
 */
export function takenFor({ words, longest }: Folds, name: string): string | undefined {
  if (name.length > longest || !foldsToAscii.test(name)) return undefined;
  const word = words.get(folded(name));
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
