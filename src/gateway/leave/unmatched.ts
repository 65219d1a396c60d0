/**
 * Names in rules that nobody has. Backends tell what they have when they are asked, so this is said once that is known of every
 * endpoint that a rule is about; each rule and name once. Patterns may be meant for what is still to come, and an address can come
 * out of a template: neither is looked for.
 */
import type { View } from '../../catalog/view.ts';
import type { Endpoint } from '../../exchange/arrival.ts';
import type { Warn } from '../../exchange/bridge/drive.ts';
import { NameSet } from '../../policy/names.ts';
import { unmatched } from '../../policy/review.ts';
import type { PolicySettings, Rule } from '../../policy/rules.ts';
import { isMerged } from '../targets.ts';

type List = 'tools' | 'prompts';
type Names = ReadonlyMap<List, readonly string[]>;

export class UnmatchedNames {
  readonly #policy: PolicySettings;
  readonly #endpoints: readonly Endpoint[];
  readonly #warn: Warn;
  readonly #listed = new Map<string, Map<List, readonly string[]>>();
  /** Bounded by the rules. */
  readonly #told = new Set<string>();

  constructor(policy: PolicySettings, endpoints: readonly Endpoint[], warn: Warn) {
    this.#policy = policy;
    this.#endpoints = endpoints;
    this.#warn = warn;
  }

  /** A list of all backends behind the endpoint, as it is before anything of it is hidden. */
  read(endpoint: Endpoint, list: string | undefined, { places }: View): void {
    if (list !== 'tools' && list !== 'prompts') return;
    this.#keep(
      endpoint,
      list,
      places.map(({ clientName }) => clientName),
    );
    // Where a backend is alone, its things have their own names.
    for (const other of this.#endpoints) {
      const [only] = other.backends;
      if (isMerged(other) || only === undefined || !endpoint.backends.includes(only)) continue;
      this.#keep(
        other,
        list,
        places.filter(({ backend }) => backend === only).map(({ name }) => name),
      );
    }
    for (const rule of this.#policy.rules) this.#look(rule, list);
  }

  #keep({ path }: Endpoint, list: List, names: readonly string[]): void {
    const lists = this.#listed.get(path) ?? new Map<List, readonly string[]>();
    this.#listed.set(path, lists.set(list, names));
  }

  #look(rule: Rule, list: List): void {
    if (rule.on[list] === undefined) return;
    const endpoints = rule.on.endpoints && new NameSet(rule.on.endpoints, 'path');
    const reach = this.#endpoints.filter(({ path }) => endpoints === undefined || endpoints.has(path) === 'yes');
    const known = reach.map(({ path }): Names | undefined => this.#listed.get(path));
    if (known.some((lists) => lists?.get(list) === undefined)) return;
    const names = known.flatMap((lists) => lists?.get(list) ?? []);
    const alone = { ...rule, on: { [list]: rule.on[list] } };
    const catalog = { tools: [], prompts: [], uris: [], [list]: names };
    for (const { text } of unmatched({ ...this.#policy, rules: [alone] }, catalog)) {
      const told = `${rule.id} ${text}`;
      if (this.#told.has(told)) continue;
      this.#told.add(told);
      this.#warn('a rule names what no backend has', { rule: rule.id, why: text });
    }
  }
}
