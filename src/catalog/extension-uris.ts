/** The URIs of extensions in entries and results, and how an endpoint with several backends writes them. */
import { type Edit, type Raw, rewrite } from '../wire/compose.ts';
import { type ExtensionRow, extensions, type UriPath } from '../wire/extensions.ts';
import type { Member, ObjectSpan, Span } from '../wire/message.ts';
import type { ListName } from '../wire/methods.ts';
import { elementsAt, membersAt } from '../wire/skim.ts';
import { stringAt } from '../wire/values.ts';
import { distinguished, distinguishedUnder, isReserved } from './uris.ts';

/** One place of URIs, and the extension that they belong to. */
export interface UriPlace {
  readonly row: ExtensionRow;
  readonly path: UriPath;
}

function placesIn(paths: (row: ExtensionRow) => readonly UriPath[] | undefined): readonly UriPlace[] {
  return extensions.flatMap((row) => (paths(row) ?? []).map((path) => ({ row, path })));
}

const none: readonly UriPlace[] = [];
const inEntries = new Map<string, readonly UriPlace[]>();
const inResults = new Map<string, readonly UriPlace[]>();
for (const { uris } of extensions) {
  for (const list of Object.keys(uris?.entries ?? {}))
    inEntries.set(
      list,
      placesIn((row) => row.uris?.entries?.[list as ListName]),
    );
  for (const method of Object.keys(uris?.results ?? {}))
    inResults.set(
      method,
      placesIn((row) => row.uris?.results?.[method]),
    );
}

export function uriPlacesOf(list: ListName): readonly UriPlace[] {
  return inEntries.get(list) ?? none;
}

export function uriPlacesIn(method: string): readonly UriPlace[] {
  return inResults.get(method) ?? none;
}

/** The values at this path, every duplicate included: we cannot know which one a reader takes. */
export function spansAt(bytes: Uint8Array, span: Span, path: UriPath): readonly Span[] {
  const [step, ...rest] = path;
  if (step === undefined) return [span];
  const next = step === '*' ? (elementsAt(bytes, span) ?? []) : valuesOf(membersAt(bytes, span), step);
  return next.flatMap((value) => spansAt(bytes, value, rest));
}

export function valuesOf(object: ObjectSpan | undefined, key: string): readonly Member[] {
  return object?.members.filter((own) => own.key === key) ?? [];
}

/** Rewrites the URIs at these places to the form that names their backend. */
export function distinguishedAt(
  bytes: Uint8Array,
  span: Span,
  places: readonly UriPlace[],
  backend: string,
): readonly Edit[] {
  return places.flatMap(({ row, path }) =>
    spansAt(bytes, span, path).flatMap((at) => {
      const uri = stringAt(bytes, at);
      const other = uri === undefined ? undefined : addressOf(row, backend, uri);
      return other === undefined ? [] : [{ span: at, with: JSON.stringify(other) }];
    }),
  );
}

/** Undefined if the URI does not belong to the backend. */
function addressOf({ uris, scheme = '' }: ExtensionRow, backend: string, uri: string): string | undefined {
  if (uris?.renamed === 'all') return distinguishedUnder(scheme, backend, uri);
  return isReserved(uri) ? distinguished(backend, uri) : undefined;
}

/** The URI by which an entry is listed, where an extension defines the list. */
export function entryAddress(list: ListName, backend: string, uri: string): string {
  const row = uriPlacesOf(list)[0]?.row;
  return (row && addressOf(row, backend, uri)) ?? distinguished(backend, uri);
}

/** The object without the members at these paths, the rest byte for byte. */
export function withoutAt(bytes: Uint8Array, span: Span, paths: readonly UriPath[]): Uint8Array {
  const object = membersAt(bytes, span);
  if (object === undefined) return bytes.subarray(span.start, span.end);
  const dropped = new Set(paths.flatMap(([step, ...rest]) => (rest.length === 0 ? [step] : [])));
  const deeper = new Set(paths.flatMap(([step, ...rest]) => (rest.length === 0 ? [] : [step])));
  const set: Record<string, Raw> = {};
  for (const { key, start, end } of object.members) {
    if (dropped.has(key) || !deeper.has(key)) continue;
    const inside = paths.filter(([step]) => step === key).map(([, ...rest]) => rest);
    set[key] = withoutAt(bytes, { start, end }, inside);
  }
  return rewrite(bytes, object, { drop: (key) => dropped.has(key), set });
}
