/**
 * Names that some JSON readers treat as equal. Go's `encoding/json`, System.Text.Json and others match member names
 * case-insensitively, some of them for all of Unicode, and the last one wins: to them `Method` is `method`.
 */

/**
 * Equal for two names that are equal after simple case folding, or after `toUpperCase().toLowerCase()`. Lower-casing
 * comes first, because some capital letters fold to a different letter: the Kelvin sign to `k`, the capital sharp s to
 * `ß`. Upper-casing then unites small letters that share a capital: the long s and `s`.
 */
export function folded(name: string): string {
  return name.toLowerCase().toUpperCase();
}

/** ASCII words, by their folded form. */
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
 * The word that a case-insensitive reader may take the name for. Undefined if there is none, or if the name is that
 * word. Folding is expensive and never makes a name shorter, so it is skipped where it cannot produce a word.
 */
export function takenFor({ words, longest }: Folds, name: string): string | undefined {
  if (name.length > longest || !foldsToAscii.test(name)) return undefined;
  const word = words.get(folded(name));
  return word === name ? undefined : word;
}

/** An object's names by their folded form; undefined where several names fold to the same. */
export type FoldedNames = ReadonlyMap<string, string | undefined>;

const foldedNames = new WeakMap<object, FoldedNames>();

/** Cached as long as the object lives: many rules look at the same arguments. */
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

/** Up to this many names are compared one by one, which is cheaper than folding and caching all of them. */
const FEW_NAMES = 8;

/** Whether the object has a different member that a case-insensitive reader may take for the one with this name. */
export function hasOther(object: object, name: string): boolean {
  let names = foldedNames.get(object);
  if (names === undefined) {
    const all = Object.keys(object);
    if (all.length <= FEW_NAMES) return isAmong(all, name);
    names = foldedNamesOf(object);
  }
  const fold = folded(name);
  return names.has(fold) && names.get(fold) !== name;
}

function isAmong(names: readonly string[], name: string): boolean {
  let fold: string | undefined;
  for (const other of names) {
    if (other === name) continue;
    fold ??= folded(name);
    // Folding never makes a name shorter.
    if (other.length <= fold.length && folded(other) === fold) return true;
  }
  return false;
}
