/** Finds a rule that denies everything that another rule matches. */
import { actions, thingsOf } from './actions.ts';
import { compileGlob, type GlobStyle } from './glob.ts';
import { type IndexedPattern, NameIndex, push } from './name-index.ts';
import type { On, Rule, Who } from './rules.ts';

/** The lists of `on` that select targets. */
const targetLists = [
  { list: 'tools', style: 'name' },
  { list: 'prompts', style: 'name' },
  { list: 'uris', style: 'path' },
  { list: 'asks', style: 'name' },
  { list: 'methods', style: 'name' },
] as const;
type TargetList = (typeof targetLists)[number]['list'];

interface PlainDenial {
  readonly rule: Rule;
  /** Its position among the denials of the file. */
  readonly order: number;
}

/** The denials that have a pattern in one list. */
interface ListedDenials {
  readonly byText: ReadonlyMap<string, readonly PlainDenial[]>;
  readonly index: NameIndex<PlainDenial>;
}

/** Rules that deny all that they match. Indexed by name: comparing each rule with each takes minutes for thousands. */
export class PlainDenials {
  /** Denials that name no target. */
  readonly #unnamed: readonly PlainDenial[];
  readonly #listed: ReadonlyMap<TargetList, ListedDenials>;
  readonly #globs = new Globs();

  constructor(rules: readonly Rule[]) {
    const denials = rules.filter(isPlainDenial).map((rule, order) => ({ rule, order }));
    this.#unnamed = denials.filter(({ rule }) => firstTarget(rule.on) === undefined);
    this.#listed = new Map(targetLists.map(({ list, style }) => [list, listedIn(denials, list, style)]));
  }

  /** The first of the other rules that denies everything that this one matches. */
  covering(rule: Rule): Rule | undefined {
    let first: PlainDenial | undefined;
    for (const denial of this.#candidates(rule)) {
      if (first !== undefined && denial.order >= first.order) continue;
      if (denial.rule.id !== rule.id && covers(denial.rule, rule, this.#globs)) first = denial;
    }
    return first?.rule;
  }

  /** A denial that covers the rule covers its first target. */
  #candidates({ on }: Rule): readonly PlainDenial[] {
    const found = [...this.#unnamed];
    const target = firstTarget(on);
    const listed = target && this.#listed.get(target.list);
    if (target === undefined || listed === undefined) return found;
    found.push(...(listed.byText.get(target.text) ?? []));
    const glob = compileGlob(target.text, target.style);
    if (typeof glob === 'string') return found;
    listed.index.find(glob.prefix, found);
    if (glob.form !== 'exact') listed.index.find(glob.suffix, found);
    return found;
  }
}

function listedIn(denials: readonly PlainDenial[], list: TargetList, style: GlobStyle): ListedDenials {
  const byText = new Map<string, PlainDenial[]>();
  const patterns: IndexedPattern<PlainDenial>[] = [];
  for (const denial of denials) {
    for (const text of denial.rule.on[list] ?? []) {
      push(byText, text, denial);
      const glob = compileGlob(text, style);
      if (typeof glob !== 'string') patterns.push({ glob, item: denial });
    }
  }
  return { byText, index: new NameIndex(patterns, style) };
}

/** Only tools have annotations. */
function targetsIn(on: On, list: TargetList): readonly string[] | undefined {
  return list === 'tools' && on.annotations !== undefined ? (on.tools ?? ['*']) : on[list];
}

function firstTarget(on: On): { list: TargetList; style: GlobStyle; text: string } | undefined {
  for (const { list, style } of targetLists) {
    const text = targetsIn(on, list)?.[0];
    if (text !== undefined) return { list, style, text };
  }
  return undefined;
}

/** Whether the rule denies everything that it matches, unconditionally. */
function isPlainDenial({ effect, mode, with: tests, when, on }: Rule): boolean {
  if (effect !== 'deny' || mode !== 'enforce') return false;
  return Object.keys(tests).length === 0 && when === undefined && on.annotations === undefined;
}

/** Patterns, compiled once: each is compared with many others. */
class Globs {
  readonly #known = new Map<string, ReturnType<typeof compileGlob>>();

  of(text: string, style: GlobStyle): ReturnType<typeof compileGlob> {
    const key = `${style} ${text}`;
    const glob = this.#known.get(key) ?? compileGlob(text, style);
    this.#known.set(key, glob);
    return glob;
  }
}

function covers(wide: Rule, narrow: Rule, globs: Globs): boolean {
  return (
    (wide.what === undefined || (narrow.what ?? actions).every((action) => wide.what?.includes(action))) &&
    coversWho(wide.who, narrow.who, globs) &&
    coversList(wide.on.endpoints, narrow.on.endpoints, 'path', globs) &&
    coversList(wide.on.backends, narrow.on.backends, 'name', globs) &&
    coversThings(wide.on, narrow, globs)
  );
}

function coversThings(wide: On, { on, what = actions }: Rule, globs: Globs): boolean {
  if (targetLists.every(({ list }) => wide[list] === undefined)) return true;
  // A rule without targets also covers operations without a named target.
  if (firstTarget(on) === undefined || what.some((action) => thingsOf(action).length === 0)) return false;
  return targetLists.every(({ list, style }) => {
    const named = targetsIn(on, list);
    return named === undefined || (wide[list] !== undefined && coversList(wide[list], named, style, globs));
  });
}

function coversWho(wide: Who, narrow: Who, globs: Globs): boolean {
  const lists = (['principals', 'issuers', 'scopes', 'groups', 'keys'] as const).every((list) =>
    coversList(wide[list], narrow[list], 'name', globs),
  );
  return (
    lists &&
    Object.entries(wide.claims ?? {}).every(([claim, values]) => {
      const given = narrow.claims?.[claim];
      return given?.every((value) => values.includes(value)) ?? false;
    })
  );
}

/** Undefined covers everything. */
function coversList(
  wide: readonly string[] | undefined,
  narrow: readonly string[] | undefined,
  style: GlobStyle,
  globs: Globs,
): boolean {
  if (wide === undefined) return true;
  return (narrow ?? ['*']).every((pattern) => wide.some((other) => coversPattern(other, pattern, style, globs)));
}

/** Only certain cases: where it is not certain, nothing is reported. */
function coversPattern(wide: string, narrow: string, style: GlobStyle, globs: Globs): boolean {
  if (wide === narrow) return true;
  const outer = globs.of(wide, style);
  const inner = globs.of(narrow, style);
  if (typeof outer === 'string' || typeof inner === 'string') return false;
  if (outer.form === 'all') return true;
  if (inner.form === 'exact') return outer.matches(inner.prefix) === true;
  if (outer.form === 'prefix') return inner.prefix.startsWith(outer.prefix);
  return outer.form === 'suffix' && inner.suffix.endsWith(outer.suffix);
}
