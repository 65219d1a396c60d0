/**
 * What a principal is shown of a list. In one backend's list the hidden entries are removed, and all others stay byte
 * for byte. A merged list has one part for each audience.
 */
import { isMerged } from '../catalog/name-resolver.ts';
import { readDistinguished } from '../catalog/uris.ts';
import type { ListView } from '../catalog/view.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Principal } from '../identity/principal.ts';
import { concat, type Edit, spliceMessage } from '../wire/compose.ts';
import type { ResultResponse, Span } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import { elementsAt, skimMessage } from '../wire/skim.ts';
import { isObject, member, slice, valueAt } from '../wire/values.ts';
import { listed } from './actions.ts';
import type { Authorizer, Viewer } from './authorizer.ts';

/** The backend's own URI for the resource that the endpoint's clients know by this URI. */
export function ownUri(endpoint: Endpoint, backend: string, uri: string): string {
  return (isMerged(endpoint) ? readDistinguished(uri, [backend])?.uri : undefined) ?? uri;
}

interface To extends Viewer {
  readonly authorizer: Authorizer;
  readonly backend: string;
  readonly row: MethodRow;
}

export function withoutHidden(message: ResultResponse, vocabulary: Era, to: To): ResultResponse {
  tellNames(message, to);
  const edits = [...hiddenIn(message, to), ...privateScope(message, vocabulary, to)];
  if (edits.length === 0) return message;
  return skimMessage(spliceMessage(message, edits)) as ResultResponse;
}

/** Merged lists are read by the gateway itself. A list of a single backend is seen only here, as it passes. */
function tellNames(message: ResultResponse, { authorizer, endpoint, backend, row }: To): void {
  const { result } = message;
  const seeker = row.list && authorizer.seekerOf(endpoint, row.list);
  if (row.list === undefined || seeker === undefined || member(result, row.list) === undefined) return;
  const names = entryNames(message, row.list).filter((name) => name !== undefined);
  seeker.readPage(backend, row.list, names, member(result, 'nextCursor') === undefined);
}

type ListName = keyof typeof listed;

/** The names of all entries, in their order; undefined for one without a name. */
export function entryNames({ bytes, result }: ResultResponse, list: ListName): readonly (string | undefined)[] {
  const span = member(result, list);
  return span === undefined ? [] : (elementsAt(bytes, span) ?? []).map((element) => nameIn(bytes, element, list));
}

/** The list with these entries only, which stay byte for byte. */
export function withEntries(
  message: ResultResponse,
  list: ListName,
  isShown: (name: string | undefined) => boolean,
): ResultResponse {
  const { bytes, result } = message;
  const span = member(result, list);
  if (span === undefined) return message;
  const elements = elementsAt(bytes, span) ?? [];
  const kept = elements.filter((element) => isShown(nameIn(bytes, element, list)));
  if (kept.length === elements.length) return message;
  return skimMessage(spliceMessage(message, [keptElements(bytes, span, kept)])) as ResultResponse;
}

function nameIn(bytes: Uint8Array, element: Span, list: ListName): string | undefined {
  const entry = valueAt(bytes, element);
  const name = isObject(entry) ? entry[listed[list].key] : undefined;
  return typeof name === 'string' ? name : undefined;
}

function hiddenIn({ bytes, result }: ResultResponse, to: To): readonly Edit[] {
  const { authorizer, backend, row } = to;
  const span = row.list === undefined ? undefined : member(result, row.list);
  if (row.list === undefined || span === undefined) return [];
  const { kind, key } = listed[row.list];
  const extent = authorizer.extent(to, kind, backend);
  if (extent === 'all') return [];
  const elements = elementsAt(bytes, span) ?? [];
  const isShown = (element: Span): boolean => {
    const entry = extent === 'none' ? undefined : valueAt(bytes, element);
    const name = isObject(entry) ? entry[key] : undefined;
    if (typeof name !== 'string') return false;
    return authorizer.shows(to, backend, { kind, name }, () => (isObject(entry) ? entry.annotations : undefined));
  };
  const kept = elements.filter(isShown);
  if (kept.length === elements.length && elements.length > 0) return [];
  return [keptElements(bytes, span, kept)];
}

/** Replaces the array by these elements of it. */
export function keptElements(bytes: Uint8Array, span: Span, kept: readonly Span[]): Edit {
  const joined = kept.flatMap((element) => [',', slice(bytes, element)]).slice(1);
  return { span, with: concat(['[', ...joined, ']']) };
}

/** A list that differs between principals must not be cached for everybody by intermediaries. */
function privateScope({ bytes, result }: ResultResponse, vocabulary: Era, to: To): readonly Edit[] {
  const span = vocabulary === 'modern' && to.row.cacheable === true ? member(result, 'cacheScope') : undefined;
  if (span === undefined || !to.authorizer.isShaping || valueAt(bytes, span) === 'private') return [];
  return [{ span, with: '"private"' }];
}

export interface ShownList {
  /** Equal for principals that see the same. */
  readonly audience: string;
  /** The part of the list that the audience may see. */
  places(view: ListView): ListView['places'];
  /** Whether the audience may know that the backend exists. */
  knows(backend: string): boolean;
  /** Whether the audience may know that the backend has an entry with this name. */
  knowsOf(backend: string, name: string): boolean;
}

/** Undefined if everybody sees everything. */
export function shownTo(
  authorizer: Authorizer,
  endpoint: Endpoint,
  row: MethodRow,
  principal: Principal,
): ShownList | undefined {
  const audience = authorizer.audience({ principal, endpoint });
  if (audience === undefined || row.list === undefined) return undefined;
  const { kind } = listed[row.list];
  const to = { principal, endpoint };
  const extents = new Map(endpoint.backends.map((backend) => [backend, authorizer.extent(to, kind, backend)]));
  return {
    audience,
    knows: (backend) => extents.get(backend) !== 'none',
    knowsOf: (backend, name) =>
      extents.get(backend) !== 'none' &&
      authorizer.shows(to, backend, { kind, name, own: ownUri(endpoint, backend, name) }),
    places: ({ places }) =>
      places.filter(({ backend, name, clientName, bytes }) => {
        const extent = extents.get(backend);
        if (extent !== 'some') return extent === 'all';
        return authorizer.shows(to, backend, { kind, name: clientName, own: name }, () => {
          const entry = valueAt(bytes, { start: 0, end: bytes.byteLength });
          return isObject(entry) ? entry.annotations : undefined;
        });
      }),
  };
}
