/** The merged lists of one endpoint's backends, as one client sees them, page by page. */
import { FIND_TOOLS } from '../budget/find-tools.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { PinGuard } from '../pins/ports.ts';
import { listed } from '../policy/actions.ts';
import type { ShownList } from '../policy/filtered-list.ts';
import type { ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { CursorScope, Cursors, Position } from './cursors.ts';
import type { Scope } from './entries.ts';
import { withHeldApart } from './held-entries.ts';
import type { KeptList } from './list-cache.ts';
import { type ListPart, ListReading, type Reader, type ReadingLimits, type ReadingOptions } from './list-reader.ts';
import { type Digest, MergedList, type MergedParts, type Missing } from './merged-list.ts';
import { isMerged } from './name-resolver.ts';
import { createNames, type Names } from './names.ts';
import { overridesAt } from './overrides/names.ts';
import { type OverlaidView, overlaid } from './overrides/overlay.ts';
import { OverrideReports } from './overrides/reports.ts';
import {
  type BackendList,
  type ListView,
  mergeNamed,
  mergeResources,
  mergeSkills,
  mergeTemplates,
  mergeUnnamed,
} from './view.ts';

export interface ListsOptions extends ReadingOptions {
  readonly cursors: Cursors;
  readonly limits: ReadingLimits & MergedParts['limits'];
  readonly digest: Digest;
  /** Which part of a list a principal may see; undefined if all of it. */
  readonly shown: (endpoint: Endpoint, row: MethodRow, principal: Principal) => ShownList | undefined;
  /** What pins hold of a backend's list. Absent: nothing is pinned. */
  readonly pins?: () => PinGuard | undefined;
  /** Called when a list was read from every backend of the endpoint. */
  readonly read?: ((endpoint: Endpoint, list: string | undefined, view: ListView) => void) | undefined;
}

/** Merged lists that are cached. If all clients see the same, there is one per list and endpoint. */
const MERGED_KEPT = 64;
/** Views that are cached for name lookups, for lists that have no current merged list. */
const VIEWS_KEPT = 16;
/** How long a public list is served without checking each of its parts, which also marks them as used in the cache. */
const UNSEEN_MS = 1_000;
/** The most collisions that are logged. */
const TOLD = 1_000;
interface NamesOf {
  readonly names: Names;
  /** Different for each set of backends. */
  readonly id: number;
}

/** A merged public list, and the conditions under which it may be served again. */
interface PublicList {
  readonly merged: MergedList;
  readonly backends: Endpoint['backends'];
  readonly names: Endpoint['names'];
  readonly overrides: Endpoint['overrides'];
  /** Of the list cache. */
  readonly changes: number;
  readonly until: number;
  readonly known: readonly (Discovery | undefined)[];
}

export class Lists {
  readonly #options: ListsOptions;
  /** Keyed by an endpoint's backends in one generation. */
  readonly #names = new WeakMap<Endpoint['backends'], NamesOf>();
  #counted = 0;
  readonly #merged = new BoundedMap<MergedList>(MERGED_KEPT);
  /** Views of lists some of which are not fresh, or were never read. */
  readonly #views = new BoundedMap<ListView>(VIEWS_KEPT);
  readonly #standing = new Map<string, PublicList>();
  /** Collisions that were logged already. */
  readonly #told = new Set<string>();

  /** The lists of each backend by itself. */
  readonly parts: ListReading;
  readonly overrideReports: OverrideReports;

  constructor(options: ListsOptions) {
    this.#options = options;
    this.parts = new ListReading(options);
    this.overrideReports = new OverrideReports(options.warn);
  }

  names({ backends }: Endpoint): Names {
    return this.#namesOf(backends).names;
  }

  #namesOf(backends: Endpoint['backends']): NamesOf {
    const existing = this.#names.get(backends);
    if (existing !== undefined) return existing;
    const made = { names: createNames(backends, this.#options.digest), id: ++this.#counted };
    this.#names.set(backends, made);
    return made;
  }

  /** Called when the endpoints may have changed. */
  renewed(): void {
    this.#standing.clear();
  }

  /** The backends among these that, as far as the reader may know, have an entry with this name. */
  knownToHave(endpoint: Endpoint, row: MethodRow, reader: Reader, name: string, among: readonly string[]): string[] {
    const shown = this.#options.shown(endpoint, row, reader.principal);
    const overrides = overridesAt(endpoint);
    const kind = row.list && listed[row.list].kind;
    const ownOf = (backend: string) => overrides?.of(backend, kind)?.ownOf(name) ?? name;
    return among.filter((backend) => shown === undefined || shown.knowsOf(backend, ownOf(backend)));
  }

  /** The merged list, from fresh cached lists. Backends without one are read, all concurrently. */
  merged(endpoint: Endpoint, row: MethodRow, reader: Reader): MergedList | Promise<MergedList> {
    const standing = this.#standingFor(endpoint, row, reader);
    if (standing !== undefined) return standing;
    const parts: (ListPart | Promise<ListPart>)[] = endpoint.backends.map((name) => this.parts.part(name, row, reader));
    if (!parts.some((part) => part instanceof Promise)) {
      const merged = this.#merge(endpoint, row, parts as ListPart[]);
      this.#stand(endpoint, row, reader, merged);
      return merged;
    }
    return Promise.all(parts).then((settled) => this.#merge(endpoint, row, settled));
  }

  #standingFor(endpoint: Endpoint, row: MethodRow, reader: Reader): MergedList | undefined {
    const standing = this.#standing.get(standingKey(endpoint, row, reader));
    if (standing === undefined) return undefined;
    const { currentGeneration, listCache, clock } = this.#options;
    if (standing.changes !== listCache.changes || clock.now() >= standing.until) return undefined;
    const { known, merged } = standing;
    const { backends } = currentGeneration.now;
    const { names, overrides } = endpoint;
    if (standing.backends !== endpoint.backends || standing.names !== names) return undefined;
    if (standing.overrides !== overrides) return undefined;
    for (let at = 0; at < known.length; at++) {
      const backend = backends.of(endpoint.backends[at] as string, reader.principal);
      if (backend?.lastDiscovery !== known[at] || backend?.state.state === 'down') return undefined;
    }
    return merged;
  }

  #stand(endpoint: Endpoint, row: MethodRow, reader: Reader, merged: MergedList): void {
    if (merged.scope !== 'public' || !merged.isWhole) return;
    const { currentGeneration, listCache, clock } = this.#options;
    const { backends } = currentGeneration.now;
    const until = Math.min(clock.now() + UNSEEN_MS, ...merged.lists.map(({ readAt, goodMs }) => readAt + goodMs));
    const known = endpoint.backends.map((name) => backends.of(name, reader.principal)?.lastDiscovery);
    this.#standing.set(standingKey(endpoint, row, reader), {
      merged,
      backends: endpoint.backends,
      names: endpoint.names,
      overrides: endpoint.overrides,
      changes: listCache.changes,
      until,
      known,
    });
  }

  /** The view of the lists last read, fresh or not. */
  knownView(endpoint: Endpoint, row: MethodRow, reader: Reader): ListView {
    const lists = this.parts.known(endpoint, row, reader);
    const key = this.#keyOf(endpoint, row, lists);
    const existing = this.#merged.get(key)?.view ?? this.#views.get(key);
    if (existing !== undefined) return existing;
    const view = this.view(endpoint, row, lists);
    this.#views.set(key, view);
    return view;
  }

  /**
   * One page for the client, of the part of the list that it may see. Undefined if no backend offers such a list.
   * `shown`: each is applied to what the one before has left.
   */
  page(
    endpoint: Endpoint,
    row: MethodRow,
    reader: Reader,
    cursor: string | undefined,
    shown: readonly ShownList[],
  ): ResultResponse | undefined | Promise<ResultResponse | undefined> {
    if (cursor !== undefined) return this.#laterPage(endpoint, row, reader, cursor, shown);
    const merged = this.merged(endpoint, row, reader);
    const first = (all: MergedList) => this.#page(endpoint, row, reader, shownIn(all, shown), 0);
    return merged instanceof Promise ? merged.then(first) : first(merged);
  }

  async #laterPage(
    endpoint: Endpoint,
    row: MethodRow,
    reader: Reader,
    cursor: string,
    shown: readonly ShownList[],
  ): Promise<ResultResponse | undefined> {
    const { offset, version } = this.#readCursor(endpoint, row, reader, cursor);
    // Use the list as it was for the first page, so that no entry is skipped or repeated. Equal versions are equal byte
    // for byte, and the cursor was issued to this reader or for a public list.
    const at = { endpoint: endpoint.path, row };
    const audiences = shown.map(({ audience }) => audience);
    const isSame = (merged: MergedList) => merged.isKnownTo(reader.principal.key, at, version, audiences);
    const whole = this.#merged.find(isSame) ?? (await this.merged(endpoint, row, reader));
    const merged = shownIn(whole, shown);
    if (merged.version !== version)
      throw new Failure('invalid_cursor', { message: 'The list has changed: read it from the start' });
    return this.#page(endpoint, row, reader, merged, offset);
  }

  #readCursor(endpoint: Endpoint, row: MethodRow, reader: Reader, cursor: string): Position {
    const bounds = (['public', 'private'] as const).map((scope) => boundTo(endpoint, row, scope, reader));
    return this.#options.cursors.read(cursor, ...bounds);
  }

  #page(
    endpoint: Endpoint,
    row: MethodRow,
    reader: Reader,
    merged: MergedList,
    offset: number,
  ): ResultResponse | undefined {
    if (merged.isNothing) return undefined;
    const { cursors, clock } = this.#options;
    const bound = boundTo(endpoint, row, merged.scope, reader);
    return merged.page(offset, clock.now(), reader.principal.key, (next) =>
      cursors.write({ offset: next, version: merged.version }, bound),
    );
  }

  #merge(endpoint: Endpoint, row: MethodRow, parts: readonly ListPart[]): MergedList {
    const lists = parts.filter((part): part is KeptList => part !== undefined && 'entries' in part);
    const missing = parts.filter((part): part is Missing => part !== undefined && 'reason' in part);
    const away = missing.flatMap(({ last }) => (last === undefined ? [] : [{ ...last, away: true }]));
    const key = this.#keyOf(endpoint, row, lists, missing);
    const existing = this.#merged.get(key);
    if (existing !== undefined) return existing;
    const pins = this.#options.pins?.();
    const shown = pins === undefined ? lists : lists.flatMap((list) => withHeldApart(pins, row, list));
    const view = this.view(endpoint, row, [...shown, ...away]);
    for (const { name, backends } of view.collisions) {
      const told = JSON.stringify([endpoint.path, row.list, name, backends]);
      if (this.#told.has(told) || this.#told.size >= TOLD) continue;
      this.#told.add(told);
      this.#options.warn('several backends behind one endpoint have the same name', {
        endpoint: endpoint.path,
        list: row.list,
        name,
        backends,
      });
    }
    if ('plain' in view) this.overrideReports.merged(endpoint, view.kind, lists, view.withheld);
    if (missing.length === 0) this.#options.read?.(endpoint, row.list, 'plain' in view ? view.plain : view);
    const merged = new MergedList({
      endpoint: endpoint.path,
      row,
      view,
      lists,
      missing,
      limits: this.#options.limits,
      digest: this.#options.digest,
    });
    this.#merged.set(key, merged);
    return merged;
  }

  view(endpoint: Endpoint, row: MethodRow, lists: readonly BackendList[]): ListView | OverlaidView {
    if (row.list === 'resources') return mergeResources(lists);
    if (row.list === 'resourceTemplates') return mergeTemplates(lists);
    if (row.list === 'skills') return mergeSkills(lists);
    const reserved = row.list === 'tools' && endpoint.budget !== undefined ? FIND_TOOLS : undefined;
    const merge = (given: readonly BackendList[]) =>
      isMerged(endpoint)
        ? mergeNamed(given, endpoint.names, this.names(endpoint), reserved)
        : mergeUnnamed(given, reserved);
    const overrides = overridesAt(endpoint);
    if (overrides === undefined) return merge(lists);
    return overlaid(overrides, row.list === 'prompts' ? 'prompt' : 'tool', lists, merge);
  }

  #keyOf(endpoint: Endpoint, row: MethodRow, lists: readonly KeptList[], missing: readonly Missing[] = []): string {
    const absent = missing.map(({ backend, reason, last }) => `${backend}:${reason}:${last?.version}`);
    const versions = [...lists.map(({ version }) => version), ...absent];
    const pins = this.#options.pins?.()?.since ?? '';
    const overrides = overridesAt(endpoint)?.id ?? '';
    const names = this.#namesOf(endpoint.backends).id;
    const reserved = endpoint.budget === undefined ? '' : 'budget';
    return [pins, reserved, endpoint.names, names, overrides, endpoint.path, row.method, ...versions].join('\n');
  }
}

export function shownIn(list: MergedList, shown: readonly ShownList[]): MergedList {
  return shown.reduce((merged, one) => merged.shownTo(one), list);
}

/** As many keys as there are lists of endpoints, for each era of clients and each set of extensions. */
function standingKey({ path }: Endpoint, { method }: MethodRow, { prefers, declaration }: Reader): string {
  return `${prefers} ${method} ${path} ${declaration.key}`;
}

/** A private list's cursor is bound to its principal, so that its later pages are private too. */
function boundTo({ path }: Endpoint, { method }: MethodRow, scope: Scope, { principal }: Reader): CursorScope {
  return { endpoint: path, method, ...(scope === 'private' && { principal: principal.key }) };
}
