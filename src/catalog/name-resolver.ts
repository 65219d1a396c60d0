/**
 * Finds the backend of a request and its name for the target. With one backend nothing is renamed; with several, the
 * name or the URI determines the backend.
 */

import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Principal } from '../identity/principal.ts';
import type { Thing } from '../policy/question.ts';
import { unknownThing } from '../policy/refusals.ts';
import type { CurrentBackends } from '../upstream/backends.ts';
import type { Request } from '../wire/message.ts';
import { type MethodRow, methodRow, offers } from '../wire/methods.ts';
import type { Reader } from './list-reader.ts';
import type { Lists } from './lists.ts';
import type { Origin } from './names.ts';
import { ResourceOwners } from './owner.ts';
import { type NamedTarget, renamed, targetOf } from './requests.ts';
import { LinkingTarget, type ResolvedTarget } from './resolved-target.ts';

/** Several backends, or none: the endpoint's lists are merged. */
export function isMerged({ backends }: Endpoint): boolean {
  return backends.length !== 1;
}

const rows = { tool: methodRow('tools/list') as MethodRow, prompt: methodRow('prompts/list') as MethodRow };

/** A name that no backend has, for the log and the audit trail. */
export interface UnknownName {
  readonly endpoint: Endpoint;
  readonly row: MethodRow;
  readonly name: string;
  readonly principal: Principal;
  readonly failure: Failure;
}

export class NameResolver {
  readonly #currentGeneration: CurrentBackends;
  readonly #lists: Lists;
  readonly resources: ResourceOwners;
  readonly #onUnknown: (unknown: UnknownName) => void;

  constructor(
    currentGeneration: CurrentBackends,
    lists: Lists,
    onUnknown: (unknown: UnknownName) => void = () => undefined,
  ) {
    this.#currentGeneration = currentGeneration;
    this.#lists = lists;
    this.resources = new ResourceOwners(currentGeneration, lists);
    this.#onUnknown = onUnknown;
  }

  /** False if every backend of the endpoint is known not to offer the method. */
  isOffered({ backends }: Endpoint, row: MethodRow): boolean {
    for (const name of backends) {
      const discovery = this.#currentGeneration.now.backends.get(name)?.lastDiscovery;
      if (discovery === undefined || offers(discovery, row)) return true;
    }
    return false;
  }

  /** Throws, or rejects with, a `Failure` if no backend of the endpoint has the target. */
  find(endpoint: Endpoint, row: MethodRow, message: Request, reader: Reader): ResolvedTarget | Promise<ResolvedTarget> {
    const named = targetOf(message, row);
    if (named === undefined) throw new Failure('invalid_params', { message: `${row.name ?? 'name'} is required` });
    let origin: Origin | Promise<Origin>;
    try {
      origin =
        named.kind === 'resource'
          ? this.resources.locate(endpoint, named.text, reader)
          : this.#origin(endpoint, named.kind, named.text, reader);
    } catch (error) {
      return this.#refused(error, endpoint, row, named, reader);
    }
    if (!(origin instanceof Promise)) return this.#target(endpoint, row, message, named, origin, reader);
    return origin.then(
      (found) => this.#target(endpoint, row, message, named, found, reader),
      (error: unknown) => this.#refused(error, endpoint, row, named, reader),
    );
  }

  #refused(
    error: unknown,
    endpoint: Endpoint,
    row: MethodRow,
    { text: name }: NamedTarget,
    { principal }: Reader,
  ): never {
    if (error instanceof Failure && error.row.blame === 'client')
      this.#onUnknown({ endpoint, row, name, principal, failure: error });
    throw error;
  }

  #origin(endpoint: Endpoint, kind: keyof typeof rows, name: string, reader: Reader): Origin | Promise<Origin> {
    const names = this.#lists.names(endpoint);
    const plain = endpoint.names === 'never' ? undefined : names.decode(name);
    // Under `always` an encoded name is unambiguous, listed or not.
    if (plain !== undefined && endpoint.names === 'always') return plain;
    const found = this.#lists.knownView(endpoint, rows[kind], reader).find(name);
    return found ?? this.#originAfterReading(endpoint, kind, name, reader, plain);
  }

  async #originAfterReading(
    endpoint: Endpoint,
    kind: keyof typeof rows,
    name: string,
    reader: Reader,
    plain: Origin | undefined,
  ): Promise<Origin> {
    const row = rows[kind];
    const { view } = await this.#lists.merged(endpoint, row, reader);
    const origin = view.find(name) ?? plain;
    if (origin !== undefined) return origin;
    const collision = view.collisions.find((one) => one.name === name);
    // A client must not learn of a backend that it may not see.
    const backends = this.#lists.knownToHave(endpoint, row, reader, name, collision?.backends ?? []);
    if (backends.length > 0) throw new Failure('name_collision', { data: { name, backends } });
    throw unknownThing(kind, name);
  }

  /**
   * The target under its listed name and its backend's own name. If the listed name is unknown, because the backend
   * does not list the target or cannot be read, both names are used, so that no spelling evades a rule.
   */
  thing(endpoint: Endpoint, kind: Thing['kind'], origin: Origin, reader: Reader): Thing | Promise<Thing> {
    if (kind !== 'tool' && kind !== 'prompt') return this.resources.thing(endpoint, kind, origin, reader);
    const encoded = origin.encoded ?? this.#lists.names(endpoint).encode(origin);
    const { name: own } = origin;
    if (endpoint.names === 'always') return { kind, name: encoded, own };
    const known = this.#lists.knownView(endpoint, rows[kind], reader).nameOf(origin);
    if (known !== undefined && this.#lists.parts.isKnown(endpoint, rows[kind], reader))
      return { kind, name: known, own };
    return this.#namedThing(endpoint, rows[kind], origin, reader).then((name) =>
      name === undefined ? { kind, name: encoded, also: own, own } : { kind, name, own },
    );
  }

  async #namedThing(endpoint: Endpoint, row: MethodRow, origin: Origin, reader: Reader): Promise<string | undefined> {
    const { view } = await this.#lists.merged(endpoint, row, reader);
    return view.nameOf(origin);
  }

  /** The target of a request about a task, by the tool that made it. `message` has the backend's id. */
  ofTask(endpoint: Endpoint, tool: Origin, message: Request, reader: Reader): ResolvedTarget {
    const { backend, name } = tool;
    if (!isMerged(endpoint)) return { backend, name, message, names: [name] };
    const names = this.#namesOf(endpoint, tool);
    return new LinkingTarget({ backend, name, message, names, method: 'tools/call' }, this.resources, endpoint, reader);
  }

  /** The backend of a resource, and its URI there. */
  locate(endpoint: Endpoint, uri: string, reader: Reader): Origin | Promise<Origin> {
    if (!isMerged(endpoint)) return { backend: endpoint.backends[0] ?? '', name: uri };
    return this.resources.locate(endpoint, uri, reader);
  }

  #target(
    endpoint: Endpoint,
    row: MethodRow,
    message: Request,
    named: NamedTarget,
    origin: Origin,
    reader: Reader,
  ): ResolvedTarget {
    const { backend, name } = origin;
    const own = name === named.text ? message : renamed(message, row, name, named);
    const names = row.action === 'call' ? this.#namesOf(endpoint, origin) : undefined;
    const isRead = row.action === 'read';
    if (isRead ? own === message : row.action !== 'call' && row.action !== 'get')
      return { backend, name, message: own, names };
    const address = isRead ? named.text : undefined;
    const asked = { backend, name, message: own, names, method: row.method, address };
    return new LinkingTarget(asked, this.resources, endpoint, reader);
  }

  #namesOf(endpoint: Endpoint, origin: Origin): readonly string[] {
    const encoded = origin.encoded ?? this.#lists.names(endpoint).encode(origin);
    return endpoint.names === 'always' ? [encoded] : [encoded, origin.name];
  }
}
