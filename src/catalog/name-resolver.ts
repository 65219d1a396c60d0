/**
 * Finds the backend of a request and its name for the target. With one backend nothing is renamed; with several, the
 * name or the URI determines the backend.
 */

import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Principal } from '../identity/principal.ts';
import type { Thing } from '../policy/question.ts';
import { unknownThing } from '../policy/refusals.ts';
import type { Backends } from '../upstream/backends.ts';
import type { Request, ResultResponse } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { withClientUris } from './links.ts';
import type { Reader } from './list-reader.ts';
import type { Lists } from './lists.ts';
import type { Origin } from './names.ts';
import { offers } from './offers.ts';
import { ownerOf } from './owner.ts';
import { type NamedTarget as Named, renamed, targetOf } from './requests.ts';
import { distinguished, readDistinguished } from './uris.ts';

export interface ResolvedTarget {
  readonly backend: string;
  /** The backend's own name for the target, if the endpoint has several backends. */
  readonly name?: string;
  /** The request with the backend's own name. */
  readonly message: Request;
  /** Every name by which clients can call the tool here: a rule for one of them applies to all. */
  readonly names?: readonly string[];
  /** Rewrites a result to the client's names. Undefined if there is nothing to rename. */
  readonly renamed?: (result: ResultResponse) => ResultResponse;
}

/** Several backends, or none: the endpoint's lists are merged. */
export function isMerged({ backends }: Endpoint): boolean {
  return backends.length !== 1;
}

const rows = {
  tools: methodRow('tools/list') as MethodRow,
  prompts: methodRow('prompts/list') as MethodRow,
  resources: methodRow('resources/list') as MethodRow,
  templates: methodRow('resources/templates/list') as MethodRow,
};

/** The target of a request: a tool, a prompt, a resource or a template. */
interface Subject {
  readonly list: keyof typeof rows;
  readonly name: string;
  /** Where the request names it. */
  readonly named?: Named;
}

/** A name that no backend has, for the log and the audit trail. */
export interface UnknownName {
  readonly endpoint: Endpoint;
  readonly row: MethodRow;
  readonly name: string;
  readonly principal: Principal;
  readonly failure: Failure;
}

export class NameResolver {
  readonly #backends: Backends;
  readonly #lists: Lists;
  readonly #onUnknown: (unknown: UnknownName) => void;

  constructor(backends: Backends, lists: Lists, onUnknown: (unknown: UnknownName) => void = () => undefined) {
    this.#backends = backends;
    this.#lists = lists;
    this.#onUnknown = onUnknown;
  }

  /** False if every backend of the endpoint is known not to offer the method. */
  isOffered({ backends }: Endpoint, row: MethodRow): boolean {
    for (const name of backends) {
      const discovery = this.#backends.get(name)?.lastDiscovery;
      if (discovery === undefined || offers(discovery, row)) return true;
    }
    return false;
  }

  /** Throws, or rejects with, a `Failure` if no backend of the endpoint has the target. */
  find(endpoint: Endpoint, row: MethodRow, message: Request, reader: Reader): ResolvedTarget | Promise<ResolvedTarget> {
    const subject = subjectOf(row, message);
    let origin: Origin | Promise<Origin>;
    try {
      origin =
        subject.list === 'tools' || subject.list === 'prompts'
          ? this.#named(endpoint, subject, reader)
          : this.#located(endpoint, subject, reader);
    } catch (error) {
      return this.#refused(error, endpoint, row, subject, reader);
    }
    if (!(origin instanceof Promise)) return this.#target(endpoint, row, message, subject, origin, reader);
    return origin.then(
      (found) => this.#target(endpoint, row, message, subject, found, reader),
      (error: unknown) => this.#refused(error, endpoint, row, subject, reader),
    );
  }

  #refused(error: unknown, endpoint: Endpoint, row: MethodRow, { name }: Subject, { principal }: Reader): never {
    if (error instanceof Failure && error.row.blame === 'client')
      this.#onUnknown({ endpoint, row, name, principal, failure: error });
    throw error;
  }

  #named(endpoint: Endpoint, subject: Subject, reader: Reader): Origin | Promise<Origin> {
    const row = rows[subject.list];
    const names = this.#lists.names(endpoint);
    const plain = endpoint.names === 'never' ? undefined : names.decode(subject.name);
    // Under `always` an encoded name is unambiguous, listed or not.
    if (plain !== undefined && endpoint.names === 'always') return plain;
    const known = this.#lists.knownView(endpoint, row, reader);
    const found = known.find(subject.name);
    if (found !== undefined) return found;
    return this.#namedAfterReading(endpoint, subject, reader, plain);
  }

  async #namedAfterReading(
    endpoint: Endpoint,
    subject: Subject,
    reader: Reader,
    plain: Origin | undefined,
  ): Promise<Origin> {
    const row = rows[subject.list];
    const { view } = await this.#lists.merged(endpoint, row, reader);
    const origin = view.find(subject.name) ?? plain;
    if (origin !== undefined) return origin;
    const collision = view.collisions.find(({ name }) => name === subject.name);
    // A client must not learn of a backend that it may not see.
    const backends = this.#lists.knownToHave(endpoint, row, reader, subject.name, collision?.backends ?? []);
    if (backends.length > 0) throw new Failure('name_collision', { data: { name: subject.name, backends } });
    throw unknownThing(subject.list === 'tools' ? 'tool' : 'prompt', subject.name);
  }

  /**
   * The target under its listed name and its backend's own name. If the listed name is unknown, because the backend
   * does not list the target or cannot be read, both names are used, so that no spelling evades a rule.
   */
  thing(endpoint: Endpoint, kind: Thing['kind'], origin: Origin, reader: Reader): Thing | Promise<Thing> {
    if (kind === 'tool' || kind === 'prompt') {
      const encoded = this.#lists.names(endpoint).encode(origin);
      const { name: own } = origin;
      if (endpoint.names === 'always') return { kind, name: encoded, own };
      const row = kind === 'tool' ? rows.tools : rows.prompts;
      const known = this.#lists.knownView(endpoint, row, reader).nameOf(origin);
      if (known !== undefined && this.#lists.parts.isKnown(endpoint, row, reader)) return { kind, name: known, own };
      return this.#namedThing(endpoint, row, origin, reader).then((name) =>
        name === undefined ? { kind, name: encoded, also: own, own } : { kind, name, own },
      );
    }
    if (this.#withResources(endpoint).length === 1 && this.#allKnown(endpoint)) return { kind, name: origin.name };
    return this.#addressed(endpoint, kind, origin, reader);
  }

  async #namedThing(endpoint: Endpoint, row: MethodRow, origin: Origin, reader: Reader): Promise<string | undefined> {
    const { view } = await this.#lists.merged(endpoint, row, reader);
    return view.nameOf(origin);
  }

  async #addressed(endpoint: Endpoint, kind: Thing['kind'], origin: Origin, reader: Reader): Promise<Thing> {
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
    if (owner === 'unknown') return { kind, name, also: own, own };
    const isPlain = 'backend' in owner && owner.backend === origin.backend && owner.uri === own;
    return { kind, name: isPlain ? own : name, own };
  }

  /** The backend of a resource, and its URI there. */
  locate(endpoint: Endpoint, uri: string, reader: Reader): Origin | Promise<Origin> {
    if (!isMerged(endpoint)) return { backend: endpoint.backends[0] ?? '', name: uri };
    return this.#located(endpoint, { list: 'resources', name: uri }, reader);
  }

  /** The URI by which a client reaches a backend's resource, as far as is known without reading lists. */
  addressOf(endpoint: Endpoint, { backend, name }: Origin, reader: Reader): string {
    const isOnly = this.#withResources(endpoint).length === 1 && this.#allKnown(endpoint);
    return isOnly || this.#isPlain(endpoint, backend, name, reader) ? name : distinguished(backend, name);
  }

  #located(endpoint: Endpoint, subject: Subject, reader: Reader): Origin | Promise<Origin> {
    const said = readDistinguished(subject.name, endpoint.backends);
    if (said !== undefined) return { backend: said.backend, name: said.uri };
    const having = this.#withResources(endpoint);
    const [only] = having;
    // If only one backend has resources, every URI belongs to it.
    if (only !== undefined && having.length === 1 && this.#allKnown(endpoint)) {
      return { backend: only, name: subject.name };
    }
    const known = this.#owner(endpoint, subject.name, this.#knownLists(endpoint, reader), reader);
    return known ?? this.#locatedAfterReading(endpoint, subject, reader);
  }

  async #locatedAfterReading(endpoint: Endpoint, subject: Subject, reader: Reader): Promise<Origin> {
    const [resources, templates] = await Promise.all([
      this.#lists.merged(endpoint, rows.resources, reader),
      this.#lists.merged(endpoint, rows.templates, reader),
    ]);
    const { lists } = resources;
    const origin = this.#owner(endpoint, subject.name, { resources: lists, templates: templates.lists }, reader);
    if (origin !== undefined) return origin;
    throw unknownThing('resource', subject.name);
  }

  #owner(endpoint: Endpoint, uri: string, lists: Parameters<typeof ownerOf>[1], reader: Reader): Origin | undefined {
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

  #target(
    endpoint: Endpoint,
    row: MethodRow,
    message: Request,
    subject: Subject,
    { backend, name }: Origin,
    reader: Reader,
  ): ResolvedTarget {
    const own = name === subject.name ? message : renamed(message, row, name, subject.named);
    const base =
      row.action === 'call'
        ? { backend, name, message: own, names: this.#namesOf(endpoint, { backend, name }) }
        : { backend, name, message: own };
    const renames = this.#renamesLinks(endpoint, row, own !== message);
    if (!renames) return base;
    const isRead = row.method === 'resources/read';
    const clientUri = (uri: string) =>
      isRead || !this.#isPlain(endpoint, backend, uri, reader) ? distinguished(backend, uri) : undefined;
    return { ...base, renamed: (result) => withClientUris(result, clientUri) };
  }

  #namesOf(endpoint: Endpoint, origin: Origin): readonly string[] {
    const encoded = this.#lists.names(endpoint).encode(origin);
    return endpoint.names === 'always' ? [encoded] : [encoded, origin.name];
  }

  /**
   * A resource read under a distinguished URI gets distinguished URIs in its result. Links are renamed only where a URI
   * could belong to a different backend.
   */
  #renamesLinks(endpoint: Endpoint, row: MethodRow, wasRenamed: boolean): boolean {
    if (row.method === 'resources/read') return wasRenamed;
    return (row.action === 'call' || row.action === 'get') && this.#withResources(endpoint).length > 1;
  }

  /** Whether the plain URI leads back to this backend. */
  #isPlain(endpoint: Endpoint, backend: string, uri: string, reader: Reader): boolean {
    const owner = ownerOf(uri, this.#knownLists(endpoint, reader), endpoint.backends);
    return typeof owner === 'object' && 'backend' in owner && owner.backend === backend && owner.uri === uri;
  }

  #knownLists(endpoint: Endpoint, reader: Reader) {
    return {
      resources: this.#lists.parts.known(endpoint, rows.resources, reader),
      templates: this.#lists.parts.known(endpoint, rows.templates, reader),
    };
  }

  /** Backends with resources, at most two: callers only need to know whether there is one or several. */
  #withResources({ backends }: Endpoint): readonly string[] {
    const having: string[] = [];
    for (const name of backends) {
      const discovery = this.#backends.get(name)?.lastDiscovery;
      if (discovery === undefined || !offers(discovery, rows.resources)) continue;
      if (having.push(name) > 1) break;
    }
    return having;
  }

  #allKnown({ backends }: Endpoint): boolean {
    return backends.every((name) => this.#backends.get(name)?.lastDiscovery !== undefined);
  }
}

function subjectOf(row: MethodRow, message: Request): Subject {
  const named = targetOf(message, row);
  if (named === undefined) throw new Failure('invalid_params', { message: `${row.name ?? 'name'} is required` });
  const { kind, text } = named;
  if (kind === 'resource') return { list: row.name === 'ref' ? 'templates' : 'resources', name: text, named };
  return { list: kind === 'prompt' ? 'prompts' : 'tools', name: text, named };
}
