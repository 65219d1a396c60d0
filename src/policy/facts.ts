/**
 * The facts that a condition may read. The client chooses the arguments, and an expression can iterate a list once for
 * each of its entries, so each value has a limit. A value over the limit exists, but a condition that reads it fails.
 * Objects become maps, so that no member's name can be taken for one of the language's own.
 */
import type { Principal } from '../identity/principal.ts';
import { folded, foldedNamesOf, hasOther } from '../wire/fold.ts';
import { isObject } from '../wire/values.ts';
import { type ArgumentPath, type ArgumentsRead, type HintName, type Hints, hintNames } from './rules.ts';
import { groupsOf } from './who.ts';

/** Enough for a path or a sentence. For the size of a text there is `maxBytes`. */
const TEXT_LENGTH = 4_096;
const ENTRIES = 256;
const DEPTH = 16;
/** The most values in total, at all depths. */
const VALUES = 4_096;

/**
 * Placeholder for a value over a limit. Any use of it throws: a placeholder that could be compared or iterated would
 * look like a small value, and a client could make a condition true by sending too much.
 */
const refuse = (): never => {
  throw new RangeError('Too large for a condition to read');
};
export const tooLarge: object = new Proxy(Object.freeze({}), {
  get: refuse,
  has: refuse,
  ownKeys: refuse,
  getPrototypeOf: refuse,
  getOwnPropertyDescriptor: refuse,
});

export function bounded(value: unknown): unknown {
  let left = VALUES;
  const copy = (item: unknown, depth: number): unknown => {
    left -= 1;
    if (left < 0 || depth > DEPTH) return tooLarge;
    if (typeof item === 'string') return item.length > TEXT_LENGTH ? tooLarge : item;
    if (typeof item === 'number') return Math.abs(item) > Number.MAX_SAFE_INTEGER ? tooLarge : item;
    if (typeof item === 'boolean' || item === null) return item;
    if (Array.isArray(item)) return item.length > ENTRIES ? tooLarge : item.map((one) => copy(one, depth + 1));
    if (typeof item !== 'object') return tooLarge;
    if (Object.keys(item).length > ENTRIES) return tooLarge;
    return new Map(Object.entries(item).map(([name, member]) => [name, copy(member, depth + 1)]));
  };
  return copy(value, 0);
}

/**
 * What `bounded` has at the path, if it is a text, a boolean or null; else undefined. `values` are bounded, or small:
 * see `isSmall`.
 */
export function scalarAt(values: unknown, steps: readonly string[]): unknown {
  let value = values;
  for (const step of steps) {
    if (value === tooLarge) return undefined;
    if (value instanceof Map) value = value.get(step);
    else if (isObject(value)) value = Object.hasOwn(value, step) ? value[step] : undefined;
    else return undefined;
  }
  if (typeof value === 'string') return value.length > TEXT_LENGTH ? undefined : value;
  return typeof value === 'boolean' || value === null ? value : undefined;
}

/** Whether the values are within all limits, but for the length of texts: they can be read without a copy. */
export function isSmall(values: unknown): boolean {
  return leftAfter(values, VALUES, 0) >= 0;
}

/** How many values there may still be; negative if there are too many, at all or in one object, or too deep ones. */
function leftAfter(value: unknown, most: number, depth: number): number {
  let left = most - 1;
  if (typeof value !== 'object' || value === null) return left;
  if (depth >= DEPTH) return -1;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = leftAfter(value[at], left, depth + 1);
    return left;
  }
  let names = 0;
  for (const name in value) {
    if (left < 0 || ++names > ENTRIES) return -1;
    left = leftAfter((value as Readonly<Record<string, unknown>>)[name], left, depth + 1);
  }
  return left;
}

export function principalFacts(principal: Principal, groupsClaim: string): ReadonlyMap<string, unknown> {
  const { kind, issuer, subject, clientId, keyName, scopes, claims } = principal;
  return new Map<string, unknown>([
    ['kind', kind],
    ['issuer', issuer ?? ''],
    ['subject', subject ?? ''],
    ['clientId', clientId ?? ''],
    ['key', keyName ?? ''],
    ['allScopes', scopes === 'all'],
    ['scopes', bounded(scopes === 'all' ? [] : [...scopes])],
    ['groups', bounded(groupsOf(principal, groupsClaim))],
    ['claims', bounded(claims)],
  ]);
}

/**
 * Whether a case-insensitive backend reads the arguments differently than a condition: `Force` where the rule says
 * `force`, beside it or instead of it. A condition about such arguments cannot be evaluated. Arguments that no rule
 * reads are ignored.
 */
export function areConfusable({ paths, names }: ArgumentsRead, values: unknown): boolean {
  let search: Search | undefined;
  for (const path of paths) {
    const found = valueOn(path, values);
    if (found === confusable) return true;
    // Most conditions read text: only objects have names inside.
    if (!path.whole || typeof found !== 'object' || found === null) continue;
    search ??= new Search(names);
    if (search.finds(found, 0)) return true;
  }
  return false;
}

const confusable = Symbol('confusable');

/** The value at the path, undefined if there is none, or `confusable` if a name on the path is. */
function valueOn({ steps }: ArgumentPath, values: unknown): unknown {
  let value = values;
  for (const step of steps) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined;
    else if (!isObject(value)) return undefined;
    else if (hasOther(value, step)) return confusable;
    else value = Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

const nameCounts = new WeakMap<object, number>();

/** Counted once for each object: a large one is looked at by every rule that reads it. */
function namesIn(value: object): number {
  if (Array.isArray(value)) return value.length;
  const count = nameCounts.get(value) ?? Object.keys(value).length;
  if (count > ENTRIES) nameCounts.set(value, count);
  return count;
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
    const length = namesIn(value);
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

/**
 * https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations: by default, the worse value is
 * assumed.
 */
const silent: FullHints = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

export type FullHints = Readonly<Record<HintName, boolean>>;

/**
 * A tool's annotations, with the defaults of the specification. `given` is what the backend sent; undefined if it sent
 * nothing or is not trusted.
 */
export function fullHints(given: unknown): FullHints {
  const said: Readonly<Record<string, unknown>> =
    typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
  const hint = (name: HintName): boolean => {
    const value = Object.hasOwn(said, name) ? said[name] : undefined;
    return typeof value === 'boolean' ? value : silent[name];
  };
  const readOnlyHint = hint('readOnlyHint');
  // For a read-only tool, `destructiveHint` and `idempotentHint` have no meaning.
  return {
    readOnlyHint,
    destructiveHint: !readOnlyHint && hint('destructiveHint'),
    idempotentHint: readOnlyHint || hint('idempotentHint'),
    openWorldHint: hint('openWorldHint'),
  };
}

export function hasHints(wanted: Hints, hints: FullHints): boolean {
  return hintNames.every((name) => wanted[name] === undefined || wanted[name] === hints[name]);
}
