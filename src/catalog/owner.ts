/** Whose a URI is that a client asks for. */
import type { Entry } from './entries.ts';
import { matchesTemplate } from './templates.ts';
import { type OwnedUri, readDistinguished } from './uris.ts';
import type { BackendList } from './view.ts';

export interface UriLists {
  readonly resources: readonly BackendList[];
  readonly templates: readonly BackendList[];
}

export type Owner = OwnedUri | 'unknown' | { readonly ambiguous: readonly string[] };

/**
 * The form that names its backend, then the backends that list the URI, then those that have a template for it. Completions
 * name a template itself, which is as good as a URI that is listed.
 */
export function ownerOf(uri: string, { resources, templates }: UriLists, backends: readonly string[]): Owner {
  const named = readDistinguished(uri, backends);
  if (named !== undefined) return named;
  const listed = having([...resources, ...templates], (entries) => keysOf(entries).has(uri));
  const found =
    listed.length > 0 ? listed : having(templates, (entries) => entries.some(({ key }) => matchesTemplate(key, uri)));
  const [backend, ...others] = found;
  if (backend === undefined) return 'unknown';
  return others.length === 0 ? { backend, uri } : { ambiguous: found };
}

function having(lists: readonly BackendList[], test: (entries: readonly Entry[]) => boolean): readonly string[] {
  return [...new Set(lists.filter(({ entries }) => test(entries)).map(({ backend }) => backend))];
}

/** A list does not change, and is asked often: once for every read, and for every link in a result. */
const known = new WeakMap<readonly Entry[], ReadonlySet<string>>();

function keysOf(entries: readonly Entry[]): ReadonlySet<string> {
  const existing = known.get(entries);
  if (existing !== undefined) return existing;
  const keys = new Set(entries.map(({ key }) => key));
  known.set(entries, keys);
  return keys;
}
