/** URIs of extensions that a client may not read: what of an entry or a result is hidden with them. */
import { spansAt, type UriPlace, uriPlacesIn, uriPlacesOf, withoutAt } from '../catalog/extension-uris.ts';
import { isReserved } from '../catalog/uris.ts';
import type { ResultResponse, Span } from '../wire/message.ts';
import type { ListName, MethodRow } from '../wire/methods.ts';
import { slice, stringAt } from '../wire/values.ts';

type MayRead = (uri: string) => boolean;

/** Whether entries of the list can have URIs of extensions. */
export function hasLinks(list: ListName): boolean {
  return uriPlacesOf(list).length > 0;
}

/**
 * The entry without links that lead nowhere for this client. Undefined if the entry is hidden as a whole: a shortened
 * manifest would claim to be complete.
 */
export function shownEntry(bytes: Uint8Array, span: Span, list: ListName, mayRead: MayRead): Uint8Array | undefined {
  const hidden = uriPlacesOf(list).filter((place) => hiddenAt(bytes, span, place, mayRead) !== undefined);
  if (hidden.some(({ row }) => row.uris?.hidden === 'entry')) return undefined;
  if (hidden.length === 0) return slice(bytes, span);
  return withoutAt(
    bytes,
    span,
    hidden.map(({ path }) => path),
  );
}

/** The first URI of the result that hides it as a whole. */
export function hiddenInResult(
  { bytes, result }: ResultResponse,
  row: MethodRow,
  mayRead: MayRead,
): string | undefined {
  if (row.entries !== undefined) return undefined;
  for (const place of uriPlacesIn(row.method)) {
    const uri = place.row.uris?.hidden === 'entry' ? hiddenAt(bytes, result, place, mayRead) : undefined;
    if (uri !== undefined) return uri;
  }
  return undefined;
}

function hiddenAt(bytes: Uint8Array, span: Span, { row, path }: UriPlace, mayRead: MayRead): string | undefined {
  for (const at of spansAt(bytes, span, path)) {
    const uri = stringAt(bytes, at);
    // A link of a different scheme is no resource of the backend.
    if (uri === undefined || (row.uris?.renamed === 'scheme' && !isReserved(uri))) continue;
    if (!mayRead(uri)) return uri;
  }
  return undefined;
}
