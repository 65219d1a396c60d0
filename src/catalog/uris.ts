/**
 * Resources keep their URIs where only one backend behind the endpoint has them. Where several do, each gets a form that
 * names its backend: `bascule:<backend>/<uri>`. The URI stays readable in it, and a template stays a template.
 */

export interface OwnedUri {
  readonly backend: string;
  /** As the backend has it. */
  readonly uri: string;
}

const SCHEME = 'bascule:';

/** Percent-encoding takes the slash and the braces of a backend's name away: the prefix ends where it seems to end. */
function prefixOf(backend: string): string {
  return `${SCHEME}${encodeURIComponent(backend)}/`;
}

export function distinguished(backend: string, uri: string): string {
  return `${prefixOf(backend)}${uri}`;
}

/** Undefined where it names none of these backends. */
export function readDistinguished(uri: string, backends: readonly string[]): OwnedUri | undefined {
  if (!isReserved(uri)) return undefined;
  for (const backend of backends) {
    const prefix = prefixOf(backend);
    if (uri.startsWith(prefix)) return { backend, uri: uri.slice(prefix.length) };
  }
  return undefined;
}

/** A backend's own URI of our scheme is always distinguished, so that it is never taken for another backend's. Schemes know no case. */
export function isReserved(uri: string): boolean {
  return uri.slice(0, SCHEME.length).toLowerCase() === SCHEME;
}
