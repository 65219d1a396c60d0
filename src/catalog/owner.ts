/** Finds the backend that a client's URI belongs to. */
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
 * In order: the distinguished form, which names its backend; the backends that list the URI; those with a matching
 * template. A completion names a template itself, which counts like a listed URI.
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

/** Cached: a list never changes and is searched often, for every read and every link in a result. */
const known = new WeakMap<readonly Entry[], ReadonlySet<string>>();

function keysOf(entries: readonly Entry[]): ReadonlySet<string> {
  const existing = known.get(entries);
  if (existing !== undefined) return existing;
  const keys = new Set(entries.map(({ key }) => key));
  known.set(entries, keys);
  return keys;
}
