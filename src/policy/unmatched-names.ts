/**
 * Finds names in rules that no backend has. Backends list their entries only on request, so a name is reported once the
 * lists of all endpoints that its rule covers are known; each rule and name once. Patterns may be meant for future
 * entries, and templates may expand to any URI: neither is checked.
 */

import { isMerged } from '../catalog/name-resolver.ts';
import type { ListView } from '../catalog/view.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Warn } from '../observe/ports.ts';
import { compileGlob } from './glob.ts';
import { NameSet } from './names.ts';
import type { PolicySettings, Rule } from './rules.ts';
import { encodePlainly } from './spellings.ts';

/** Lists whose entries have names. URIs are left out: templates may expand to them. */
type List = 'tools' | 'prompts';

/** A name for which it is not yet known whether an entry exists. */
interface Sought {
  readonly rule: string;
  readonly name: string;
  /** As its author wrote it. */
  readonly written: string;
  /** A rule that denies or asks applies to every name of a target, an allow rule only to the listed name. */
  readonly isDenied: boolean;
  /** Endpoints whose lists may still have it. */
  readonly unread: Set<string>;
}

interface SeenNames {
  readonly listed: ReadonlySet<string>;
  readonly others: readonly string[];
}

export class UnmatchedNames {
  readonly #endpoints: readonly Endpoint[];
  readonly #warn: Warn;
  /** A name is removed when it is found or reported, so that lists read later cost nothing. */
  readonly #sought: Record<List, readonly Sought[]>;

  constructor(policy: PolicySettings, endpoints: readonly Endpoint[], warn: Warn) {
    this.#endpoints = endpoints.filter(({ protocol }) => protocol !== 'json-rpc');
    this.#warn = warn;
    const paths = this.#endpoints.map(({ path }) => path);
    this.#sought = { tools: soughtIn(policy, 'tools', paths), prompts: soughtIn(policy, 'prompts', paths) };
  }

  /** A list of all backends of the endpoint, before anything is hidden. */
  read(endpoint: Endpoint, list: string | undefined, { places }: ListView): void {
    if (!isList(list) || this.#sought[list].length === 0) return;
    const others = places.flatMap((place) => [place.name, encodePlainly(place)]);
    this.#look([endpoint], list, { listed: new Set(places.map(({ clientName }) => clientName)), others }, true);
    for (const backend of endpoint.backends) {
      const own = places.filter((place) => place.backend === backend);
      const listed = new Set(own.map(({ name }) => name));
      this.#look(this.#aloneAt(backend), list, { listed, others: own.map(encodePlainly) }, true);
    }
  }

  /** Whether names are still sought in this list, at an endpoint with a single backend. */
  seeks(endpoint: Endpoint, list: string): boolean {
    return isList(list) && this.#sought[list].length > 0 && !isMerged(endpoint);
  }

  /**
   * A page of a backend's list. A name that is on no page up to the last does not exist: clients page from the first.
   */
  readPage(backend: string, list: string, names: readonly string[], isLast: boolean): void {
    if (!isList(list)) return;
    const others = names.map((name) => encodePlainly({ backend, name }));
    this.#look(this.#aloneAt(backend), list, { listed: new Set(names), others }, isLast);
  }

  /** Endpoints with only this backend, where its entries keep their own names. */
  #aloneAt(backend: string): readonly Endpoint[] {
    return this.#endpoints.filter((endpoint) => !isMerged(endpoint) && endpoint.backends[0] === backend);
  }

  #look(endpoints: readonly Endpoint[], list: List, { listed, others }: SeenNames, isWhole: boolean): void {
    if (endpoints.length === 0) return;
    const every = new Set([...listed, ...others]);
    this.#sought[list] = this.#sought[list].filter((sought) => {
      const { rule, name, written, isDenied, unread } = sought;
      const concerned = endpoints.filter(({ path }) => unread.has(path));
      if (concerned.length === 0) return true;
      if ((isDenied ? every : listed).has(name)) return false;
      if (!isWhole) return true;
      for (const { path } of concerned) unread.delete(path);
      if (unread.size > 0) return true;
      this.#warn('a rule names an item that no backend has', { rule, why: missingName(written, list) });
      return false;
    });
  }
}

function isList(list: string | undefined): list is List {
  return list === 'tools' || list === 'prompts';
}

function soughtIn({ rules }: PolicySettings, list: List, paths: readonly string[]): readonly Sought[] {
  return rules.flatMap((rule) => {
    const names = outrightNames(rule, list);
    if (names.length === 0) return [];
    const reach = reachOf(rule, paths);
    const isDenied = rule.effect !== 'allow';
    return names.map(({ written, name }) => ({ rule: rule.id, written, name, isDenied, unread: new Set(reach) }));
  });
}

function reachOf({ on }: Rule, paths: readonly string[]): readonly string[] {
  if (on.endpoints === undefined) return paths;
  const endpoints = new NameSet(on.endpoints, 'path');
  return paths.filter((path) => endpoints.has(path) === 'yes');
}

/** The names in a rule that are not patterns, as written and as meant. A pattern may be meant for future entries. */
export function outrightNames(
  { on }: Rule,
  list: List,
): readonly { readonly written: string; readonly name: string }[] {
  return (on[list] ?? []).flatMap((written) => {
    const glob = compileGlob(written, 'name');
    return typeof glob === 'string' || glob.form !== 'exact' ? [] : [{ written, name: glob.prefix }];
  });
}

export function missingName(written: string, list: List): string {
  return `names \`${written}\`, which is not among the ${list}`;
}
