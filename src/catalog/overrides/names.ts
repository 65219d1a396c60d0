/**
 * Names under overrides. What a name means follows from the config alone, never from what a backend lists: a name that
 * the config gives to a tool is that tool's, and a backend cannot take it over by adding a tool of this name.
 */
import type { Endpoint } from '../../exchange/arrival.ts';
import { folded } from '../../wire/fold.ts';
import type { BackendOverrides, EntryOverride } from './settings.ts';

export type OverriddenKind = 'tool' | 'prompt';

/** How an entry is listed, or why it is not. */
export type OverriddenName = { readonly name: string } | { readonly withheld: Withholding };

/**
 * `hidden`: the config hides it. `taken`: another entry has this name. `confusable`: its name differs only in case from
 * one that is hidden, renamed, or has arguments set: a backend that ignores case would serve that one.
 */
export type Withholding = 'hidden' | 'taken' | 'confusable';

/** The overrides of one kind of one backend's entries. */
export class OverriddenNames {
  readonly entries: readonly EntryOverride[];
  readonly #byOwn: ReadonlyMap<string, EntryOverride>;
  /** The backend's own name, by the name that the config gives. */
  readonly #given: ReadonlyMap<string, string>;
  readonly #guarded: ReadonlySet<string>;

  constructor(entries: readonly EntryOverride[]) {
    this.entries = entries;
    this.#byOwn = new Map(entries.map((entry) => [entry.own, entry]));
    const given = entries.filter(({ name, hide }) => name !== undefined && hide !== true);
    this.#given = new Map(given.map(({ own, name = own }) => [name, own]));
    this.#guarded = new Set(entries.filter(isGuarded).map(({ own }) => folded(own)));
  }

  of(own: string): EntryOverride | undefined {
    return this.#byOwn.get(own);
  }

  /** The backend's own name for what its clients call so. Undefined: nothing is called so. */
  ownOf(name: string): string | undefined {
    const given = this.#given.get(name);
    if (given !== undefined) return given;
    const listed = this.listed(name);
    return 'name' in listed && listed.name === name ? name : undefined;
  }

  listed(own: string): OverriddenName {
    const entry = this.#byOwn.get(own);
    if (entry?.hide === true) return { withheld: 'hidden' };
    if (entry?.name !== undefined) return { name: entry.name };
    if (this.#given.has(own)) return { withheld: 'taken' };
    if (entry === undefined && this.#guarded.size > 0 && this.#guarded.has(folded(own)))
      return { withheld: 'confusable' };
    return { name: own };
  }
}

function isGuarded({ name, hide, arguments: given = [] }: EntryOverride): boolean {
  return name !== undefined || hide === true || given.length > 0;
}

/** The overrides of one endpoint. */
export class EndpointOverrides {
  /** Different for each set of overrides, in each generation. */
  readonly id: number;
  readonly #tools: ReadonlyMap<string, OverriddenNames>;
  readonly #prompts: ReadonlyMap<string, OverriddenNames>;

  constructor(settings: readonly BackendOverrides[]) {
    this.id = ++made;
    this.#tools = byBackend(settings, ({ tools }) => tools);
    this.#prompts = byBackend(settings, ({ prompts }) => prompts);
  }

  /** Undefined where nothing of the kind is overridden. */
  of(backend: string, kind: string | undefined): OverriddenNames | undefined {
    if (kind === 'tool') return this.#tools.get(backend);
    return kind === 'prompt' ? this.#prompts.get(backend) : undefined;
  }
}

let made = 0;

function byBackend(
  settings: readonly BackendOverrides[],
  entriesOf: (one: BackendOverrides) => readonly EntryOverride[],
): ReadonlyMap<string, OverriddenNames> {
  const some = settings.filter((one) => entriesOf(one).length > 0);
  return new Map(some.map((one) => [one.backend, new OverriddenNames(entriesOf(one))]));
}

const compiled = new WeakMap<readonly BackendOverrides[], EndpointOverrides>();

/** Compiled once for each generation. Undefined where the endpoint has none. */
export function overridesAt({ overrides }: Pick<Endpoint, 'overrides'>): EndpointOverrides | undefined {
  if (overrides === undefined) return undefined;
  const known = compiled.get(overrides);
  if (known !== undefined) return known;
  const one = new EndpointOverrides(overrides);
  compiled.set(overrides, one);
  return one;
}
