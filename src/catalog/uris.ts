/**
 * A resource keeps its URI if only one backend of the endpoint has it. If several do, each gets a distinguished form
 * that names its backend: `bascule:<backend>/<uri>`. The URI in it stays readable, and a template stays a template.
 */

export interface OwnedUri {
  readonly backend: string;
  /** The backend's own URI. */
  readonly uri: string;
}

const SCHEME = 'bascule:';

/** Percent-encoding removes slashes and braces from a backend's name, so that the prefix ends at the first slash. */
function prefixOf(backend: string): string {
  return `${SCHEME}${encodeURIComponent(backend)}/`;
}

export function distinguished(backend: string, uri: string): string {
  return `${prefixOf(backend)}${uri}`;
}

/** Undefined if it names none of these backends. */
export function readDistinguished(uri: string, backends: readonly string[]): OwnedUri | undefined {
  if (!isReserved(uri)) return undefined;
  for (const backend of backends) {
    const prefix = prefixOf(backend);
    if (uri.startsWith(prefix)) return { backend, uri: uri.slice(prefix.length) };
  }
  return undefined;
}

/**
 * A backend's own URI with our scheme is always distinguished, so that it is never taken for another backend's. Schemes
 * are case-insensitive.
 */
export function isReserved(uri: string): boolean {
  return uri.slice(0, SCHEME.length).toLowerCase() === SCHEME;
}
