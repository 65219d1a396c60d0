/** Finds the backend that a client's URI belongs to. */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Thing } from '../policy/question.ts';
import { unknownThing } from '../policy/refusals.ts';
import type { CurrentBackends } from '../upstream/backends.ts';
import { type MethodRow, methodRow, offers } from '../wire/methods.ts';
import type { Entry } from './entries.ts';
import type { Reader } from './list-reader.ts';
import type { Lists } from './lists.ts';
import type { Origin } from './names.ts';
import { matchesTemplate } from './templates.ts';
import { distinguished, isReserved, type OwnedUri, readDistinguished } from './uris.ts';
import type { BackendList } from './view.ts';

const rows = {
  resources: methodRow('resources/list') as MethodRow,
  templates: methodRow('resources/templates/list') as MethodRow,
};

interface UriLists {
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

/** Finds the backends of resources at an endpoint with several backends. */
export class ResourceOwners {
  readonly #currentGeneration: CurrentBackends;
  readonly #lists: Lists;

  constructor(currentGeneration: CurrentBackends, lists: Lists) {
    this.#currentGeneration = currentGeneration;
    this.#lists = lists;
  }

  /** The URI by which a client reaches a backend's resource, as far as is known without reading lists. */
  addressOf(endpoint: Endpoint, { backend, name }: Origin, reader: Reader): string {
    const isOnly = this.#onlyIn(endpoint) !== undefined && !isReserved(name);
    return isOnly || this.isPlain(endpoint, backend, name, reader) ? name : distinguished(backend, name);
  }

  /** The backend of a resource, and its URI there. Throws, or rejects with, a `Failure` if there is none. */
  locate(endpoint: Endpoint, uri: string, reader: Reader): Origin | Promise<Origin> {
    const said = readDistinguished(uri, endpoint.backends);
    if (said !== undefined) return { backend: said.backend, name: said.uri };
    const only = this.#onlyIn(endpoint);
    if (only !== undefined) return { backend: only, name: uri };
    const known = this.#owner(endpoint, uri, this.#knownLists(endpoint, reader), reader);
    return known ?? this.#locateAfterReading(endpoint, uri, reader);
  }

  async #locateAfterReading(endpoint: Endpoint, uri: string, reader: Reader): Promise<Origin> {
    const [resources, templates] = await Promise.all([
      this.#lists.merged(endpoint, rows.resources, reader),
      this.#lists.merged(endpoint, rows.templates, reader),
    ]);
    const lists = { resources: resources.lists, templates: templates.lists };
    const origin = this.#owner(endpoint, uri, lists, reader);
    if (origin !== undefined) return origin;
    throw unknownThing('resource', uri);
  }

  #owner(endpoint: Endpoint, uri: string, lists: UriLists, reader: Reader): Origin | undefined {
    const owner = ownerOf(uri, lists, endpoint.backends);
    if (owner === 'unknown') return undefined;
    if (!('ambiguous' in owner)) return { backend: owner.backend, name: owner.uri };
    // If the reader knows of several, it must say which one. Backends that it may not see are ignored.
    const known = owner.ambiguous.filter((backend) => {
      const names = [uri, distinguished(backend, uri)];
      return names.some(
        (name) => this.#lists.knownToHave(endpoint, rows.resources, reader, name, [backend]).length > 0,
      );
    });
    const [only, ...others] = known;
    if (only === undefined) throw unknownThing('resource', uri);
    if (others.length === 0) return { backend: only, name: uri };
    const uris = known.map((backend) => distinguished(backend, uri));
    throw new Failure('resource_ambiguous', { data: { uri, uris } });
  }

  /** The resource under its listed name and its backend's own name, as in `NameResolver.thing`. */
  thing(endpoint: Endpoint, kind: Thing['kind'], origin: Origin, reader: Reader): Thing | Promise<Thing> {
    const { backend, name: own } = origin;
    if (this.#onlyIn(endpoint) !== undefined)
      return isReserved(own) ? { kind, name: distinguished(backend, own), own } : { kind, name: own };
    return this.#thingAfterReading(endpoint, kind, origin, reader);
  }

  async #thingAfterReading(endpoint: Endpoint, kind: Thing['kind'], origin: Origin, reader: Reader): Promise<Thing> {
    const read = async (row: MethodRow) => {
      if (this.#lists.parts.isKnown(endpoint, row, reader)) {
        return {
          view: this.#lists.knownView(endpoint, row, reader),
          lists: this.#lists.parts.known(endpoint, row, reader),
        };
      }
      return this.#lists.merged(endpoint, row, reader);
    };
    const [resources, templates] = await Promise.all([read(rows.resources), read(rows.templates)]);
    const listed = resources.view.nameOf(origin) ?? templates.view.nameOf(origin);
    const { name: own } = origin;
    if (listed !== undefined) return { kind, name: listed, own };
    const lists = { resources: resources.lists, templates: templates.lists };
    const owner = ownerOf(own, lists, endpoint.backends);
    const name = distinguished(origin.backend, own);
    if (isReserved(own)) return { kind, name, own };
    if (owner === 'unknown') return { kind, name, also: own, own };
    const isPlain = 'backend' in owner && owner.backend === origin.backend && owner.uri === own;
    return { kind, name: isPlain ? own : name, own };
  }

  /** Whether the plain URI leads back to this backend. */
  isPlain(endpoint: Endpoint, backend: string, uri: string, reader: Reader): boolean {
    if (isReserved(uri)) return false;
    const owner = ownerOf(uri, this.#knownLists(endpoint, reader), endpoint.backends);
    return typeof owner === 'object' && 'backend' in owner && owner.backend === backend && owner.uri === uri;
  }

  #knownLists(endpoint: Endpoint, reader: Reader): UriLists {
    return {
      resources: this.#lists.parts.known(endpoint, rows.resources, reader),
      templates: this.#lists.parts.known(endpoint, rows.templates, reader),
    };
  }

  /** The backend that every URI belongs to: all backends are known, and only this one has resources. */
  #onlyIn({ backends }: Endpoint): string | undefined {
    if (backends.some((name) => this.#hasResources(name) === undefined)) return undefined;
    const [only, ...others] = backends.filter((name) => this.#hasResources(name));
    return others.length === 0 ? only : undefined;
  }

  /** Whether more than one backend is known to have resources. */
  areShared({ backends }: Endpoint): boolean {
    return backends.filter((name) => this.#hasResources(name)).length > 1;
  }

  /** Undefined while the backend is not known. */
  #hasResources(name: string): boolean | undefined {
    const discovery = this.#currentGeneration.now.backends.get(name)?.lastDiscovery;
    return discovery && offers(discovery, rows.resources);
  }
}
