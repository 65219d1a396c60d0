/** One merged list: the entries of all backends in one order, split into pages on request. */
import type { Reason } from '../errors/failure.ts';
import { Failure } from '../errors/failure.ts';
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { ShownList } from '../policy/filtered-list.ts';
import { concat, type Raw, resultBytes } from '../wire/compose.ts';
import type { ResultResponse } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { skimMessage } from '../wire/skim.ts';
import type { Scope } from './entries.ts';
import type { KeptList } from './list-cache.ts';
import type { Collision, ListedEntry, ListView } from './view.ts';

/** A backend whose entries are missing from the list. */
export interface Missing {
  readonly backend: string;
  readonly reason: Reason;
  /** The list that was last read from it. */
  readonly last: KeptList | undefined;
}

/** A collision-resistant hash, in hexadecimal. */
export type Digest = (...parts: readonly (string | Uint8Array)[]) => string;

export interface MergedParts {
  /** The endpoint's path. */
  readonly endpoint: string;
  readonly row: MethodRow;
  readonly view: ListView;
  readonly lists: readonly KeptList[];
  readonly missing: readonly Missing[];
  readonly limits: { readonly listPageEntries: number; readonly listPageBytes: number };
  readonly digest: Digest;
  /** Made for one audience, so never public. */
  readonly isShaped?: boolean;
}

/** The announced `ttlMs` decreases in this many steps: at each step the pages are written again. */
const STEPS = 10;
/** Audiences whose part of one list is cached. */
const AUDIENCES = 64;

export class MergedList {
  readonly #parts: MergedParts;
  readonly #pages: ReturnType<typeof cutPages>;
  readonly #written = new Map<number, { readonly ttlMs: number; readonly message: ResultResponse }>();
  readonly scope: 'public' | 'private';
  /** The principals that were given a page of a private list. */
  readonly #readers = new Set<string>();
  readonly #shown = new BoundedMap<MergedList>(AUDIENCES);
  #version: string | undefined;
  #told: Told = { ttlMs: 0, from: 0, until: Number.NEGATIVE_INFINITY };

  constructor(parts: MergedParts) {
    this.#parts = parts;
    const { listPageEntries: entries, listPageBytes: bytes } = parts.limits;
    this.#pages = cutPages(parts.view, { entries, bytes });
    this.scope = parts.isShaped !== true && parts.lists.every(({ scope }) => scope === 'public') ? 'public' : 'private';
  }

  get view(): ListView {
    return this.#parts.view;
  }

  get lists(): readonly KeptList[] {
    return this.#parts.lists;
  }

  /** No backend offers such a list, and none that is missing might. */
  get isNothing(): boolean {
    return this.#parts.lists.length === 0 && this.#parts.missing.length === 0;
  }

  /** Equal for equal lists: a different process that merges the same entries computes the same version. */
  get version(): string {
    const { view, digest } = this.#parts;
    this.#version ??= digest(...view.places.flatMap(({ bytes }) => [bytes, '\n']));
    return this.#version;
  }

  /** Whether the reader can have a cursor of this version, for the whole list or the form that its audiences get. */
  isKnownTo(
    reader: string,
    at: Pick<MergedParts, 'endpoint' | 'row'>,
    version: string,
    [audience, ...further]: readonly string[],
  ): boolean {
    if (audience !== undefined) return this.#shown.get(audience)?.isKnownTo(reader, at, version, further) === true;
    if (this.#version !== version || this.#parts.endpoint !== at.endpoint || this.#parts.row !== at.row) return false;
    return this.scope === 'public' || this.#readers.has(reader);
  }

  /** The part or form of the list that an audience may see. */
  shownTo(shown: ShownList): MergedList {
    const existing = this.#shown.get(shown.audience);
    if (existing !== undefined) return existing;
    const { view, missing, isShaped } = this.#parts;
    const isForAll = shown.isForAll === true;
    const merged = new MergedList({
      ...this.#parts,
      // Collisions would reveal names and backends that the audience may not see.
      view: { ...view, places: shown.places(view), collisions: isForAll ? view.collisions : [] },
      missing: missing.filter(({ backend }) => shown.knows(backend)),
      isShaped: isShaped === true || !isForAll,
    });
    this.#shown.set(shown.audience, merged);
    return merged;
  }

  /** The page that begins at this offset. */
  page(offset: number, now: number, reader: string, cursorFor: (offset: number) => string): ResultResponse {
    if (this.scope === 'private') this.#readers.add(reader);
    const { row, view, missing } = this.#parts;
    const index = this.#pages.findIndex(({ start }) => start === offset);
    const page = this.#pages[index];
    if (page === undefined) throw new Failure('invalid_cursor');
    const ttlMs = this.#ttlMs(now);
    const written = this.#written.get(offset);
    if (written?.ttlMs === ttlMs) return written.message;
    const isLast = index === this.#pages.length - 1;
    const result = listResult(row, view.places.slice(page.start, page.end), {
      ttlMs,
      scope: this.scope,
      partial: missing,
      collisions: view.collisions,
      ...(isLast ? {} : { next: cursorFor(page.end) }),
    });
    const message = skimMessage(resultBytes('0', result)) as ResultResponse;
    this.#written.set(offset, { ttlMs, message });
    return message;
  }

  /** Whether no backend's entries are missing. */
  get isWhole(): boolean {
    return this.#parts.missing.length === 0;
  }

  /** The smallest remaining `ttlMs`, rounded down. An incomplete list is never cacheable. */
  #ttlMs(now: number): number {
    const { lists, missing } = this.#parts;
    if (missing.length > 0 || lists.length === 0) return 0;
    if (now < this.#told.from || now > this.#told.until) this.#told = tellAt(now, lists);
    return this.#told.ttlMs;
  }
}

/** The announced `ttlMs`, and the period in which it is valid. */
interface Told {
  readonly ttlMs: number;
  readonly from: number;
  readonly until: number;
}

function tellAt(now: number, lists: readonly KeptList[]): Told {
  let least = Number.POSITIVE_INFINITY;
  let until = Number.POSITIVE_INFINITY;
  for (const { ttlMs, readAt } of lists) {
    const step = Math.max(1, Math.floor(ttlMs / STEPS));
    const left = Math.max(0, Math.floor((ttlMs - (now - readAt)) / step) * step);
    least = Math.min(least, left);
    if (left > 0) until = Math.min(until, readAt + ttlMs - left);
  }
  return { ttlMs: least, from: now, until };
}

interface PageLimits {
  readonly entries: number;
  /** Bytes of the entries together. A larger entry gets its own page. */
  readonly bytes: number;
}

/** Half-open range of positions in the view. */
interface PageRange {
  readonly start: number;
  readonly end: number;
}

/** At least one page: an empty list has an empty page. */
export function cutPages({ places }: Pick<ListView, 'places'>, limits: PageLimits): readonly PageRange[] {
  const pages: PageRange[] = [];
  let start = 0;
  let bytes = 0;
  places.forEach((place, at) => {
    const size = place.bytes.byteLength + 1;
    if (at > start && (at - start >= limits.entries || bytes + size > limits.bytes)) {
      pages.push({ start, end: at });
      start = at;
      bytes = 0;
    }
    bytes += size;
  });
  pages.push({ start, end: places.length });
  return pages;
}

interface ListOptions {
  /** The cursor of the next page. */
  readonly next?: string;
  readonly ttlMs: number;
  readonly scope: Scope;
  /** Backends whose entries are missing, and why. */
  readonly partial: readonly { readonly backend: string; readonly reason: string }[];
  readonly collisions?: readonly Collision[];
}

/** Enough to see the problem; all of them would be on every page. */
const COLLISIONS_TOLD = 50;

const metaKeys = { partial: 'bascule/partial', collisions: 'bascule/collisions' } as const;

/**
 * The result object in its modern form.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination#response-format
 */
export function listResult(row: MethodRow, places: readonly ListedEntry[], options: ListOptions): Buffer {
  const { next, ttlMs, scope, partial, collisions = [] } = options;
  const parts: Raw[] = [`{${JSON.stringify(row.list)}:[`];
  places.forEach(({ bytes }, at) => {
    if (at > 0) parts.push(',');
    parts.push(bytes);
  });
  const meta = {
    ...(partial.length > 0 && { [metaKeys.partial]: partial.map(({ backend, reason }) => ({ backend, reason })) }),
    ...(collisions.length > 0 && { [metaKeys.collisions]: collisions.slice(0, COLLISIONS_TOLD) }),
  };
  const rest = JSON.stringify({
    nextCursor: next,
    resultType: 'complete',
    ttlMs,
    cacheScope: scope,
    _meta: Object.keys(meta).length > 0 ? meta : undefined,
  });
  parts.push(`],${rest.slice(1)}`);
  return concat(parts);
}
