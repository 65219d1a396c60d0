/**
 * Names in rules that nobody has. Backends tell what they have when they are asked, so this is said once that is known of every
 * endpoint that a rule is about; each rule and name once. Patterns may be meant for what is still to come, and an address can come
 * out of a template: neither is looked for.
 */

import { isMerged } from '../catalog/name-resolver.ts';
import type { ListView } from '../catalog/view.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Warn } from '../observe/ports.ts';
import { NameSet } from './names.ts';
import { type NamedList as List, missingName, outrightNames } from './review.ts';
import type { PolicySettings, Rule } from './rules.ts';
import { encodePlainly } from './spellings.ts';

/** A name of which it is not settled yet whether there is such a thing. */
interface Sought {
  readonly rule: string;
  readonly name: string;
  /** As its author wrote it. */
  readonly written: string;
  /** A rule that denies holds for every name of a thing, one that allows for the listed name. */
  readonly isDenied: boolean;
  /** Endpoints whose list may have it still. */
  readonly unread: Set<string>;
}

interface SeenNames {
  readonly listed: ReadonlySet<string>;
  readonly others: readonly string[];
}

export class UnmatchedNames {
  readonly #endpoints: readonly Endpoint[];
  readonly #warn: Warn;
  /** Found or told of, a name is sought no more: lists that are read later cost nothing. */
  readonly #sought: Record<List, readonly Sought[]>;

  constructor(policy: PolicySettings, endpoints: readonly Endpoint[], warn: Warn) {
    this.#endpoints = endpoints.filter(({ protocol }) => protocol !== 'json-rpc');
    this.#warn = warn;
    const paths = this.#endpoints.map(({ path }) => path);
    this.#sought = { tools: soughtIn(policy, 'tools', paths), prompts: soughtIn(policy, 'prompts', paths) };
  }

  /** A list of all backends behind the endpoint, as it is before anything of it is hidden. */
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

  /** Whether it is worth finding out what a list of this backend has. */
  seeks(endpoint: Endpoint, list: string): boolean {
    return isList(list) && this.#sought[list].length > 0 && !isMerged(endpoint);
  }

  /** A page of a backend's list. What is on none up to the last is nowhere: clients walk through them from the first. */
  readPage(backend: string, list: string, names: readonly string[], isLast: boolean): void {
    if (!isList(list)) return;
    const others = names.map((name) => encodePlainly({ backend, name }));
    this.#look(this.#aloneAt(backend), list, { listed: new Set(names), others }, isLast);
  }

  /** Where a backend is alone, its things have their own names. */
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
      this.#warn('a rule names what no backend has', { rule, why: missingName(written, list) });
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
    const isDenied = rule.effect === 'deny';
    return names.map(({ written, name }) => ({
      rule: rule.id,
      written,
      name,
      isDenied,
      unread: new Set(reach),
    }));
  });
}

function reachOf({ on }: Rule, paths: readonly string[]): readonly string[] {
  if (on.endpoints === undefined) return paths;
  const endpoints = new NameSet(on.endpoints, 'path');
  return paths.filter((path) => endpoints.has(path) === 'yes');
}
