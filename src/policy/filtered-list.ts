/**
 * What a principal is shown of a list. In one backend's list the hidden entries are removed, and all others stay byte
 * for byte. A merged list has one part for each audience.
 */
import { isMerged } from '../catalog/name-resolver.ts';
import { readDistinguished } from '../catalog/uris.ts';
import type { ListedEntry, ListView } from '../catalog/view.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Principal } from '../identity/principal.ts';
import { ambiguousMember } from '../wire/ambiguity.ts';
import { concat, type Edit, type Raw, spliceMessage } from '../wire/compose.ts';
import type { ResultResponse, Span } from '../wire/message.ts';
import type { ListName, MethodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import { elementsAt, membersAt, skimMessage } from '../wire/skim.ts';
import { isObject, member, slice, textMember, valueAt } from '../wire/values.ts';
import { listed } from './actions.ts';
import type { Authorizer } from './authorizer.ts';
import { hasLinks, hiddenInResult, shownEntry } from './hidden-uris.ts';
import { unknownThing } from './refusals.ts';
import type { Viewer } from './visibility.ts';

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
  const isJudged = to.row.extension !== undefined && !readsAll(to);
  const hidden = isJudged ? hiddenInResult(message, to.row, mayRead(to)) : undefined;
  if (hidden !== undefined) throw unknownThing('resource', hidden);
  const edits = [...hiddenIn(message, to), ...privateScope(message, vocabulary, to)];
  if (edits.length === 0) return message;
  return skimMessage(spliceMessage(message, edits)) as ResultResponse;
}

/** Merged lists are read by the gateway itself. A list of a single backend is seen only here, as it passes. */
function tellNames(message: ResultResponse, { authorizer, endpoint, backend, row }: To): void {
  const { result } = message;
  const seeker = row.list && authorizer.visibility.seekerOf(endpoint, row.list);
  if (row.list === undefined || seeker === undefined || member(result, row.list) === undefined) return;
  const names = entryNames(message, row.list).filter((name) => name !== undefined);
  seeker.readPage(backend, row.list, names, member(result, 'nextCursor') === undefined);
}

/** Throws a Failure where a client may read another list than the one that is filtered. */
export function checkOneList({ result }: ResultResponse, list: ListName): void {
  const ambiguity = ambiguousMember(result, list);
  if (ambiguity !== undefined) throw new Failure('backend_invalid', { message: `ambiguous list: ${ambiguity}` });
}

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

/** Undefined too where clients may read different names. */
export function nameIn(bytes: Uint8Array, element: Span, list: ListName): string | undefined {
  const { key } = listed[list];
  const members = membersAt(bytes, element);
  return ambiguousMember(members, key) === undefined ? textMember(bytes, members, key) : undefined;
}

function hiddenIn({ bytes, result }: ResultResponse, to: To): readonly Edit[] {
  const { authorizer, backend, row, endpoint } = to;
  const list = row.list ?? row.entries;
  const span = list === undefined ? undefined : member(result, list);
  if (list === undefined || span === undefined) return [];
  const { kind } = listed[list];
  const extent = authorizer.visibility.extent(to, kind, backend);
  const isLinked = hasLinks(list) && !readsAll(to);
  if (extent === 'all' && !isLinked) return [];
  const elements = elementsAt(bytes, span) ?? [];
  const isShown = (element: Span): boolean => {
    if (extent === 'all') return true;
    const name = extent === 'none' ? undefined : nameIn(bytes, element, list);
    if (name === undefined) return false;
    const own = kind === 'resource' ? ownUri(endpoint, backend, name) : undefined;
    return authorizer.visibility.shows(to, backend, { kind, name, own }, () => annotationsIn(bytes, element));
  };
  const shown = elements.filter(isShown);
  if (!isLinked)
    return shown.length === elements.length && elements.length > 0 ? [] : [keptElements(bytes, span, shown)];
  return [
    joinedElements(
      span,
      shown.flatMap((element) => shownEntry(bytes, element, list, mayRead(to)) ?? []),
    ),
  ];
}

/** Whether the principal may read all resources of the backend. */
function readsAll(to: Omit<To, 'row'>): boolean {
  return to.authorizer.visibility.extent(to, 'resource', to.backend) === 'all';
}

function mayRead(to: Omit<To, 'row'>): (uri: string) => boolean {
  const { authorizer, backend, endpoint } = to;
  return (uri) =>
    authorizer.visibility.shows(to, backend, { kind: 'resource', name: uri, own: ownUri(endpoint, backend, uri) });
}

function annotationsIn(bytes: Uint8Array, entry: Span): unknown {
  const value = valueAt(bytes, entry);
  return isObject(value) ? value.annotations : undefined;
}

/** Replaces the array by these elements of it. */
export function keptElements(bytes: Uint8Array, span: Span, kept: readonly Span[]): Edit {
  return joinedElements(
    span,
    kept.map((element) => slice(bytes, element)),
  );
}

export function joinedElements(span: Span, elements: readonly Raw[]): Edit {
  return { span, with: concat(['[', ...elements.flatMap((element) => [',', element]).slice(1), ']']) };
}

/** A list that differs between principals must not be cached for everybody by intermediaries. */
function privateScope({ bytes, result }: ResultResponse, vocabulary: Era, to: To): readonly Edit[] {
  const span = vocabulary === 'modern' && to.row.cacheable === true ? member(result, 'cacheScope') : undefined;
  if (span === undefined || !to.authorizer.visibility.isShaping || valueAt(bytes, span) === 'private') return [];
  return [{ span, with: '"private"' }];
}

export interface ShownList {
  /** Equal for principals that see the same. */
  readonly audience: string;
  /** Set for a form of the list that hides nothing, and that all its readers get. */
  readonly isForAll?: true;
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
  const audience = authorizer.visibility.audience({ principal, endpoint });
  const { list } = row;
  if (audience === undefined || list === undefined) return undefined;
  const { kind } = listed[list];
  const to = { principal, endpoint };
  const extents = new Map(
    endpoint.backends.map((backend) => [backend, authorizer.visibility.extent(to, kind, backend)]),
  );
  return {
    audience,
    knows: (backend) => extents.get(backend) !== 'none',
    knowsOf: (backend, name) =>
      extents.get(backend) !== 'none' &&
      authorizer.visibility.shows(to, backend, { kind, name, own: ownUri(endpoint, backend, name) }),
    places: ({ places }) => {
      const shown = places.filter(({ backend, name, clientName, ruleName = clientName, bytes }) => {
        const extent = extents.get(backend);
        if (extent !== 'some') return extent === 'all';
        const annotations = () => annotationsIn(bytes, { start: 0, end: bytes.byteLength });
        return authorizer.visibility.shows(to, backend, { kind, name: ruleName, own: name }, annotations);
      });
      return hasLinks(list) ? shown.flatMap((place) => withShownLinks(place, list, { ...to, authorizer })) : shown;
    },
  };
}

function withShownLinks(
  place: ListedEntry,
  list: ListName,
  viewer: Viewer & { readonly authorizer: Authorizer },
): readonly ListedEntry[] {
  const { backend, bytes } = place;
  const to = { ...viewer, backend };
  if (readsAll(to)) return [place];
  const shown = shownEntry(bytes, { start: 0, end: bytes.byteLength }, list, mayRead(to));
  return shown === undefined ? [] : [{ ...place, bytes: shown }];
}
