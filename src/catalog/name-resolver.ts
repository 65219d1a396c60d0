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
import { type FinalCall, finalCall } from './overrides/calls.ts';
import { type OverriddenNames, overridesAt } from './overrides/names.ts';
import { overriddenEntries } from './overrides/overlay.ts';
import type { EntryOverride } from './overrides/settings.ts';
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
    if (!(origin instanceof Promise)) return this.#located(endpoint, row, message, named, origin, reader);
    return origin.then(
      (found) => this.#located(endpoint, row, message, named, found, reader),
      (error: unknown) => this.#refused(error, endpoint, row, named, reader),
    );
  }

  /**
   * At an endpoint with a single backend, where overrides change what things are called. Undefined where the request
   * names nothing that they could change.
   */
  findAlone(
    endpoint: Endpoint,
    row: MethodRow,
    message: Request,
    reader: Reader,
  ): ResolvedTarget | Promise<ResolvedTarget> | undefined {
    const named = row.name === undefined ? undefined : targetOf(message, row);
    return named === undefined || named.kind === 'resource' ? undefined : this.find(endpoint, row, message, reader);
  }

  #located(
    endpoint: Endpoint,
    row: MethodRow,
    message: Request,
    named: NamedTarget,
    origin: Origin,
    reader: Reader,
  ): ResolvedTarget | Promise<ResolvedTarget> {
    const own = origin.name === named.text ? message : renamed(message, row, origin.name, named);
    if (endpoint.overrides === undefined || row.action !== 'call')
      return this.#target(endpoint, row, own, named, origin, reader);
    const override = overridesAt(endpoint)?.of(origin.backend, 'tool')?.of(origin.name);
    if (override?.arguments === undefined) return this.#target(endpoint, row, own, named, origin, reader);
    return this.#finalCall(endpoint, own, override, named, origin, reader).then((call) =>
      this.#target(endpoint, row, call.message, named, origin, reader, call),
    );
  }

  async #finalCall(
    endpoint: Endpoint,
    own: Request,
    override: EntryOverride,
    named: NamedTarget,
    { backend }: Origin,
    reader: Reader,
  ): Promise<FinalCall> {
    const entries = await this.#lists.parts.judgedBy(backend, rows.tool, reader);
    const call = finalCall(own, override, entries, named.text);
    const names = call.refusal && overridesAt(endpoint)?.of(backend, 'tool');
    if (names !== undefined && call.refusal?.row.blame !== 'client') {
      const { withheld } = overriddenEntries(backend, entries, names);
      this.#lists.overrideReports.merged(endpoint, 'tool', [{ backend, entries }], withheld);
    }
    return call;
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
    const [only] = endpoint.backends;
    if (only !== undefined && !isMerged(endpoint)) return this.#own(endpoint, kind, { backend: only, name });
    const names = this.#lists.names(endpoint);
    const decoded = endpoint.names === 'never' ? undefined : names.decode(name);
    const overrides = overridesAt(endpoint);
    if (overrides !== undefined && decoded !== undefined && endpoint.names === 'always')
      return this.#own(endpoint, kind, decoded, name);
    const plain =
      overrides === undefined ? decoded : decoded && ownOrigin(overrides.of(decoded.backend, kind), decoded);
    // Under `always` an encoded name is unambiguous, listed or not.
    if (plain !== undefined && endpoint.names === 'always') return plain;
    const found = this.#lists.knownView(endpoint, rows[kind], reader).find(name);
    return found ?? this.#originAfterReading(endpoint, kind, name, reader, plain);
  }

  /** Throws a Failure where overrides leave nothing of this name. */
  #own(endpoint: Endpoint, kind: keyof typeof rows, shown: Origin, called = shown.name): Origin {
    const origin = ownOrigin(overridesAt(endpoint)?.of(shown.backend, kind), shown);
    if (origin === undefined) throw unknownThing(kind, called);
    return origin;
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
    call?: FinalCall,
  ): ResolvedTarget {
    const { backend, name } = origin;
    const names = row.action === 'call' ? this.#namesOf(endpoint, origin) : undefined;
    const isRead = row.action === 'read';
    const hasLinks = isRead ? name !== named.text : row.action === 'call' || row.action === 'get';
    if (!hasLinks || !isMerged(endpoint)) return { backend, name, message, names, ...call };
    const address = isRead ? named.text : undefined;
    const asked = { backend, name, message, names, method: row.method, address, ...call };
    return new LinkingTarget(asked, this.resources, endpoint, reader);
  }

  #namesOf(endpoint: Endpoint, origin: Origin): readonly string[] {
    if (!isMerged(endpoint)) return [origin.name];
    const encoded = origin.encoded ?? this.#lists.names(endpoint).encode(origin);
    return endpoint.names === 'always' ? [encoded] : [encoded, origin.name];
  }
}

/** The backend's own name for what its clients call so. Undefined where overrides leave nothing of this name. */
function ownOrigin(overridden: OverriddenNames | undefined, shown: Origin): Origin | undefined {
  const name = overridden === undefined ? shown.name : overridden.ownOf(shown.name);
  if (name === shown.name) return shown;
  return name === undefined ? undefined : { backend: shown.backend, name };
}
