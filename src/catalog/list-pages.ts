/** Writes a merged list as the pages that clients get. */
import { concat, type Raw } from '../wire/compose.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Scope } from './entries.ts';
import type { Collision, ListedEntry, ListView } from './view.ts';

export interface PageLimits {
  readonly entries: number;
  /** Bytes of the entries together. A larger entry gets its own page. */
  readonly bytes: number;
}

/** Half-open range of positions in the view. */
export interface PageRange {
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

export interface ListOptions {
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
