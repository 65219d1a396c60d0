/** The lists of the backends behind one endpoint, as one client sees them: merged, and handed out page by page. */

import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { ShownList } from '../policy/shown-lists.ts';
import type { ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Cursors, Position } from './cursors.ts';
import type { KeptList } from './list-cache.ts';
import { boundTo, mergedKey, standingKey } from './list-keys.ts';
import { type ListPart, ListReading, type Reader, type ReadingLimits, type ReadingOptions } from './list-reader.ts';
import { type Digest, MergedList, type Missing } from './merged-list.ts';
import { createNames, type Names } from './names.ts';
import { BoundedMap } from './recent.ts';
import { type BackendList, type ListView, mergeNamed, mergeResources, mergeTemplates } from './view.ts';

export interface ListsOptions extends ReadingOptions {
  readonly cursors: Cursors;
  readonly limits: ListsLimits;
  readonly digest: Digest;
  /** What somebody is shown of a list; undefined where that is all of it. */
  readonly shown: (endpoint: Endpoint, row: MethodRow, principal: Principal) => ShownList | undefined;
  /** A list was read of every backend behind the endpoint. */
  readonly read?: ((endpoint: Endpoint, list: string | undefined, view: ListView) => void) | undefined;
}

export interface ListsLimits extends ReadingLimits {
  readonly listPageEntries: number;
  readonly listPageBytes: number;
}

/** Which page of a list, and what the client is shown of it; undefined where that is all. */
export interface PageWanted {
  readonly cursor: string | undefined;
  readonly shown: ShownList | undefined;
}

/** Merged lists that are kept. Where everybody sees the same there is one for each list of each endpoint. */
const MERGED_KEPT = 64;
/** A call needs nothing but where its name leads; ordinarily a merged list tells. */
const VIEWS_KEPT = 16;
/** How long a list that is the same for everybody is given without a look at each of its parts: these are known to be in use, then. */
const UNSEEN_MS = 1_000;
/** Collisions that are told of: whoever has that many has seen that there are some. */
const TOLD = 1_000;
interface NamesOf {
  readonly names: Names;
  /** Another for others. */
  readonly id: number;
}

/** A merged list that everybody may see, and what must be so for it to be given again. */
interface PublicList {
  readonly merged: MergedList;
  readonly backends: Endpoint['backends'];
  readonly names: Endpoint['names'];
  /** Of the shelf. */
  readonly changes: number;
  readonly until: number;
  readonly known: readonly (Discovery | undefined)[];
}

export class Lists {
  readonly #options: ListsOptions;
  /** By the backends of one generation of an endpoint. */
  readonly #names = new WeakMap<Endpoint['backends'], NamesOf>();
  #counted = 0;
  readonly #merged = new BoundedMap<MergedList>(MERGED_KEPT);
  /** Of lists some of which are good no more, or were never read. */
  readonly #views = new BoundedMap<ListView>(VIEWS_KEPT);
  readonly #standing = new Map<string, PublicList>();
  /** Collisions that people were told of: once is enough. */
  readonly #told = new Set<string>();

  /** What each backend has by itself. */
  readonly parts: ListReading;

  constructor(options: ListsOptions) {
    this.#options = options;
    this.parts = new ListReading(options);
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

  /** Endpoints may be others than before. */
  renewed(): void {
    this.#standing.clear();
  }

  /** Those of the backends of which the reader may know that they have something of this name. */
  knownToHave(endpoint: Endpoint, row: MethodRow, reader: Reader, name: string, among: readonly string[]): string[] {
    const shown = this.#options.shown(endpoint, row, reader.principal);
    return among.filter((backend) => shown === undefined || shown.knowsOf(backend, name));
  }

  /** The merged list, from what is kept and good; else every backend that has to be asked is asked, all at once. */
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
    const { backends, listCache, clock } = this.#options;
    if (standing.changes !== listCache.changes || clock.now() >= standing.until) return undefined;
    const { known, merged } = standing;
    if (standing.backends !== endpoint.backends || standing.names !== endpoint.names) return undefined;
    for (let at = 0; at < known.length; at++) {
      const backend = backends.of(endpoint.backends[at] as string, reader.principal);
      if (backend?.lastDiscovery !== known[at] || backend?.state.state === 'down') return undefined;
    }
    return merged;
  }

  #stand(endpoint: Endpoint, row: MethodRow, reader: Reader, merged: MergedList): void {
    if (merged.scope !== 'public' || !merged.isWhole) return;
    const { backends, listCache, clock } = this.#options;
    const until = Math.min(clock.now() + UNSEEN_MS, ...merged.lists.map(({ readAt, goodMs }) => readAt + goodMs));
    const known = endpoint.backends.map((name) => backends.of(name, reader.principal)?.lastDiscovery);
    this.#standing.set(standingKey(endpoint, row, reader), {
      merged,
      backends: endpoint.backends,
      names: endpoint.names,
      changes: listCache.changes,
      until,
      known,
    });
  }

  /** The same as the clients see it. */
  knownView(endpoint: Endpoint, row: MethodRow, reader: Reader): ListView {
    const lists = this.parts.known(endpoint, row, reader);
    const key = this.#keyOf(endpoint, row, lists);
    const existing = this.#merged.get(key)?.view ?? this.#views.get(key);
    if (existing !== undefined) return existing;
    const view = this.view(endpoint, row, lists);
    this.#views.set(key, view);
    return view;
  }

  /** One page towards the client. Undefined where no backend has such things. */
  page(
    endpoint: Endpoint,
    row: MethodRow,
    reader: Reader,
    { cursor, shown }: PageWanted,
  ): ResultResponse | undefined | Promise<ResultResponse | undefined> {
    if (cursor !== undefined) return this.#laterPage(endpoint, row, reader, cursor, shown);
    const merged = this.merged(endpoint, row, reader);
    const first = (all: MergedList) =>
      this.#page(endpoint, row, reader, shown === undefined ? all : all.shownTo(shown), 0);
    return merged instanceof Promise ? merged.then(first) : first(merged);
  }

  async #laterPage(
    endpoint: Endpoint,
    row: MethodRow,
    reader: Reader,
    cursor: string,
    shown: ShownList | undefined,
  ): Promise<ResultResponse | undefined> {
    const { offset, version } = this.#readCursor(endpoint, row, reader, cursor);
    // The list as it was when the first page was given, so that nothing is missed and nothing comes twice. Equal versions are
    // equal to the byte, and the cursor was given to this reader, or for a list that everybody may see.
    const at = { endpoint: endpoint.path, row };
    const isSame = (merged: MergedList) => merged.isKnownTo(reader.principal.key, at, version, shown?.audience);
    const whole = this.#merged.find(isSame) ?? (await this.merged(endpoint, row, reader));
    const merged = shown === undefined ? whole : whole.shownTo(shown);
    if (merged.version !== version)
      throw new Failure('invalid_cursor', { message: 'The list has changed: begin again' });
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
    const view = this.view(endpoint, row, [...lists, ...away]);
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
    if (missing.length === 0) this.#options.read?.(endpoint, row.list, view);
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

  view(endpoint: Endpoint, row: MethodRow, lists: readonly BackendList[]): ListView {
    if (row.list === 'resources') return mergeResources(lists);
    if (row.list === 'resourceTemplates') return mergeTemplates(lists);
    return mergeNamed(lists, endpoint.names, this.names(endpoint));
  }

  #keyOf(endpoint: Endpoint, row: MethodRow, lists: readonly KeptList[], missing?: readonly Missing[]): string {
    return `${endpoint.names} ${this.#namesOf(endpoint.backends).id} ${mergedKey(endpoint, row, lists, missing)}`;
  }
}
