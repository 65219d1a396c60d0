/**
 * A resource keeps its URI if only one backend of the endpoint has it. If several do, each gets a distinguished form
 * that names its backend: `bascule:<backend>/<uri>`. The URI in it stays readable, and a template stays a template.
 *
 * Hosts recognise apps and skills by their schemes, and resolve references relative to them. Such a URI keeps its
 * scheme and is always distinguished: `<scheme>://<backend>/<rest>`. It does not change when a backend is added, so what
 * hosts have cached and users have approved stays valid.
 */
import { extensions } from '../wire/extensions.ts';

export interface OwnedUri {
  readonly backend: string;
  /** The backend's own URI. */
  readonly uri: string;
}

const SCHEME = 'bascule:';
const AUTHORITY = '://';
const keptSchemes = new Set(extensions.flatMap(({ scheme }) => scheme ?? []));
/**
 * Before the scheme of a URI that is addressed under the scheme of an extension: `skill://<backend>/~https/<rest>`. A
 * second one stands for an empty authority, because a path must have no empty segment: `~file~/<rest>`.
 */
const FOREIGN = '~';
const foreignForm = /^~([a-z][a-z0-9+.-]*)(~?)\/(.*)$/is;
const withAuthority = /^[a-z][a-z0-9+.-]*:\/\//i;

interface KeptUri {
  /** As it is spelled, with `://`. */
  readonly head: string;
  readonly rest: string;
}

/** Undefined if the URI has no scheme that is kept. Schemes are case-insensitive. */
function keptUri(uri: string): KeptUri | undefined {
  const at = uri.indexOf(AUTHORITY);
  if (at === -1 || !keptSchemes.has(uri.slice(0, at).toLowerCase())) return undefined;
  const end = at + AUTHORITY.length;
  return { head: uri.slice(0, end), rest: uri.slice(end) };
}

/** Percent-encoding removes slashes and braces from a backend's name, so that the prefix ends at the first slash. */
function segmentOf(backend: string): string {
  return `${encodeURIComponent(backend)}/`;
}

export function distinguished(backend: string, uri: string): string {
  const kept = keptUri(uri);
  if (kept === undefined) return `${SCHEME}${segmentOf(backend)}${uri}`;
  const { head, rest } = kept;
  const isForeign = rest.startsWith(FOREIGN) || rest.startsWith('/');
  return isForeign ? foreign(head, backend, uri) : `${head}${segmentOf(backend)}${rest}`;
}

/**
 * The form of any URI under the scheme of an extension, so that references relative to it can be resolved. A URI
 * without an authority has no such references.
 */
export function distinguishedUnder(scheme: string, backend: string, uri: string): string {
  if (keptUri(uri) !== undefined || !withAuthority.test(uri)) return distinguished(backend, uri);
  return foreign(`${scheme}${AUTHORITY}`, backend, uri);
}

function foreign(head: string, backend: string, uri: string): string {
  const at = uri.indexOf(AUTHORITY);
  const rest = uri.slice(at + AUTHORITY.length);
  const after = rest.startsWith('/') ? `${FOREIGN}${rest}` : `/${rest}`;
  return `${head}${segmentOf(backend)}${FOREIGN}${uri.slice(0, at)}${after}`;
}

/** Undefined if it names none of these backends. */
export function readDistinguished(uri: string, backends: readonly string[]): OwnedUri | undefined {
  const kept = keptUri(uri);
  if (kept === undefined && !isOurs(uri)) return undefined;
  const { head, rest } = kept ?? { head: '', rest: uri.slice(SCHEME.length) };
  for (const backend of backends) {
    const segment = segmentOf(backend);
    if (!rest.startsWith(segment)) continue;
    const own = rest.slice(segment.length);
    return { backend, uri: kept === undefined ? own : (readForeign(own) ?? `${head}${own}`) };
  }
  return undefined;
}

function readForeign(own: string): string | undefined {
  const [, scheme, empty, rest] = foreignForm.exec(own) ?? [];
  return scheme === undefined ? undefined : `${scheme}${AUTHORITY}${empty === FOREIGN ? '/' : ''}${rest}`;
}

/** A backend's own URI that is always distinguished, so that it is never taken for another backend's. */
export function isReserved(uri: string): boolean {
  return isOurs(uri) || keptUri(uri) !== undefined;
}

function isOurs(uri: string): boolean {
  return uri.slice(0, SCHEME.length).toLowerCase() === SCHEME;
}
