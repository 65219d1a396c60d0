/** Says once, for each set of overrides, where one does not fit what a backend lists. */
import type { Endpoint } from '../../exchange/arrival.ts';
import type { Warn } from '../../observe/ports.ts';
import type { BackendList } from '../view.ts';
import { type EndpointOverrides, type OverriddenKind, type OverriddenNames, overridesAt } from './names.ts';
import type { WithheldEntry } from './overlay.ts';

/** An override, or an entry that one keeps back. */
export interface OverrideProblem {
  readonly backend: string;
  /** The backend's own name. */
  readonly own: string;
  readonly why: string;
}

/** The most problems that are logged. */
const TOLD = 1_000;

export function withheldProblem({ backend, own, why }: WithheldEntry, names: OverriddenNames): OverrideProblem {
  return { backend, own, why: `it is not listed: ${reasonOf(own, why, names)}` };
}

function reasonOf(own: string, why: WithheldEntry['why'], names: OverriddenNames): string {
  if (why === 'taken') return `the config gives its name to \`${names.ownOf(own)}\``;
  if (why === 'confusable') return 'its name differs only in case from one that has an override';
  return `its override does not fit, because ${why.misfit}`;
}

/** Overrides of entries that the backend does not list. */
export function missingProblems(
  backend: string,
  { entries }: OverriddenNames,
  listed: ReadonlySet<string>,
): readonly OverrideProblem[] {
  return entries.flatMap(({ own }) =>
    listed.has(own) ? [] : [{ backend, own, why: 'it has an override, and the backend does not list it' }],
  );
}

/** All that does not fit in these lists, which are complete. */
export function problemsIn(
  overrides: EndpointOverrides,
  kind: OverriddenKind,
  lists: readonly BackendList[],
  withheld: readonly WithheldEntry[],
): readonly OverrideProblem[] {
  return lists.flatMap(({ backend, entries }) => {
    const names = overrides.of(backend, kind);
    if (names === undefined) return [];
    const own = withheld.filter((one) => one.backend === backend).map((one) => withheldProblem(one, names));
    return [...own, ...missingProblems(backend, names, new Set(entries.map(({ key }) => key)))];
  });
}

/** A page of the list of an endpoint's only backend. */
export interface ReadPage {
  readonly backend: string;
  readonly own: readonly string[];
  readonly withheld: readonly WithheldEntry[];
  readonly isLast: boolean;
}

export class OverrideReports {
  readonly #warn: Warn;
  readonly #told = new Set<string>();
  /** By overrides: the names that were on pages so far. Clients page from the first to the last. */
  readonly #paged = new WeakMap<OverriddenNames, Set<string>>();

  constructor(warn: Warn) {
    this.#warn = warn;
  }

  /** Lists that were merged. */
  merged(
    endpoint: Endpoint,
    kind: OverriddenKind,
    lists: readonly BackendList[],
    withheld: readonly WithheldEntry[],
  ): void {
    const overrides = overridesAt(endpoint);
    if (overrides !== undefined) this.#tell(endpoint, kind, problemsIn(overrides, kind, lists, withheld));
  }

  page(endpoint: Endpoint, kind: OverriddenKind, { backend, own, withheld, isLast }: ReadPage): void {
    const names = overridesAt(endpoint)?.of(backend, kind);
    if (names === undefined) return;
    const paged = this.#paged.get(names) ?? new Set<string>();
    this.#paged.set(names, paged);
    for (const name of own) if (names.of(name) !== undefined) paged.add(name);
    const missing = isLast ? missingProblems(backend, names, paged) : [];
    this.#tell(endpoint, kind, [...withheld.map((one) => withheldProblem(one, names)), ...missing]);
  }

  #tell(endpoint: Endpoint, kind: OverriddenKind, problems: readonly OverrideProblem[]): void {
    for (const { backend, own, why } of problems) {
      const told = JSON.stringify([overridesAt(endpoint)?.id, kind, backend, own, why]);
      if (this.#told.has(told) || this.#told.size >= TOLD) continue;
      this.#told.add(told);
      this.#warn('an override does not fit', { endpoint: endpoint.path, backend, [kind]: own, why });
    }
  }
}
