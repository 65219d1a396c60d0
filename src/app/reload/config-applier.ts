/**
 * Applies a new config in one step. First it makes everything that can fail. Then it puts all of it in force
 * synchronously, so no request sees a part of it. Unchanged backends keep their processes and sessions; removed ones
 * finish their running calls.
 */

import type { BackendConfig, Config, EndpointConfig, ServiceConfig } from '../../config/config.ts';
import { pathsOf, routesOf } from '../../downstream/routes.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { Backend } from '../../exchange/upstream-session.ts';
import type { Authenticator, Entrance } from '../../identity/authenticator.ts';
import type { IdentityServices } from '../../identity/create.ts';
import type { IssuerSettings } from '../../identity/settings.ts';
import type { RpcService } from '../../jsonrpc/ports.ts';
import type { BackendInFlight } from '../../pipeline/backend-in-flight.ts';
import type { CurrentGeneration, Generation } from '../../pipeline/generation.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { Authorizer } from '../../policy/authorizer.ts';
import type { Backends } from '../../upstream/backends.ts';
import { type ListKind, listKinds, offeredLists } from '../../wire/subscription-filter.ts';
import type { AuthorizerFactory } from '../authorizer-factory.ts';
import type { UpstreamOAuth } from '../upstream-oauth.ts';
import { type Differences, differences } from './differences.ts';

export interface ConfigApplierParts {
  readonly gateway: Pipeline;
  readonly authenticator: Authenticator;
  readonly backends: Backends;
  readonly backendInFlight: BackendInFlight;
  readonly currentGeneration: CurrentGeneration;
  readonly authorizers: AuthorizerFactory;
  readonly clock: Clock;
  readonly services: Map<string, RpcService>;
  readonly connections: UpstreamOAuth;
  /** `since`: the first generation that has this backend. */
  readonly makeBackend: (config: BackendConfig, since: number) => Backend;
  readonly makeService: (config: ServiceConfig) => RpcService;
  readonly makeRoom: (identity: Config['identity']) => IdentityServices;
}

export function generationOf({ generation, endpoints }: Config, authorizer: Authorizer): Generation {
  return { number: generation, authorizer, endpoints: new Map(endpoints.map((endpoint) => [endpoint.path, endpoint])) };
}

export class ConfigApplier {
  readonly #parts: ConfigApplierParts;
  #config: Config;
  #listening: string | undefined;
  #own: IssuerSettings | undefined;
  readonly #retiring = new Set<{ close(): Promise<void> }>();

  constructor(config: Config, parts: ConfigApplierParts) {
    this.#config = config;
    this.#parts = parts;
  }

  get config(): Config {
    return this.#config;
  }

  /**
   * Begins to let requests in, once the address that we listen on is known. `own`: the issuer in this process, where
   * there is one.
   */
  open(url: string, own?: IssuerSettings): void {
    this.#listening = url;
    this.#own = own;
    this.#parts.authenticator.open(this.#config.identity, entrancesOf(this.#config), url, own);
  }

  renew(next: Config): void {
    const { gateway, authenticator, backends, services, connections, currentGeneration, authorizers } = this.#parts;
    const { makeBackend, makeService, makeRoom } = this.#parts;
    const before = this.#config;
    const found = differences(before, next);
    const { added, changed, removed } = found.backends;
    const gone = new Set([...removed, ...changed.map(({ name }) => name)]);
    const lists = changedLists(before, next, found, backends);
    const madeLeave = authorizers.make(next);
    const room = found.identity ? makeRoom(next.identity) : undefined;
    const made = [...added, ...changed].map((settings) => makeBackend(settings, next.generation));
    const madeServices = [...found.services.added, ...found.services.changed].map(makeService);

    // Do this first: it is the only step that does more than replace objects.
    connections.renew(next);
    this.#config = next;
    for (const name of found.services.removed) this.#retireService(name);
    for (const { name } of found.services.changed) this.#retireService(name);
    for (const service of madeServices) services.set(service.name, service);
    for (const name of gone) this.#retire(name);
    for (const backend of made) backends.set(backend);
    currentGeneration.renew(generationOf(next, authorizers.adopt(madeLeave)));
    if (room !== undefined) authenticator.refit(room);
    if (this.#listening !== undefined) this.open(this.#listening, this.#own);
    gateway.renew({
      gone,
      closed: new Set(found.closed),
      lists,
      isWelcome: (path, principal) => authenticator.admits(path, principal),
    });
    // Discover new backends now, so that people see their state and the first client need not wait. A failure becomes a
    // state.
    for (const backend of made) backend.discover().catch(() => undefined);
  }

  /** Closes retired backends and services that have not finished yet. */
  async close(): Promise<void> {
    await Promise.all([...this.#retiring].map((backend) => backend.close()));
  }

  /** Running calls may finish within `drainMs`. */
  #retireService(name: string): void {
    const { services, clock } = this.#parts;
    const service = services.get(name);
    if (service === undefined) return;
    services.delete(name);
    this.#retiring.add(service);
    clock.after(this.#config.limits.drainMs, () => {
      void service
        .close()
        .catch(() => undefined)
        .finally(() => this.#retiring.delete(service));
    });
  }

  #retire(name: string): void {
    const { backends, backendInFlight, clock } = this.#parts;
    const backend = backends.get(name);
    if (backend === undefined) return;
    backends.delete(name);
    this.#retiring.add(backend);
    void backendInFlight
      .vacate(name, this.#config.limits.drainMs, clock)
      .then(() => backend.close())
      .catch(() => undefined)
      .finally(() => this.#retiring.delete(backend));
  }
}

export function entrancesOf({ endpoints }: Config): readonly Entrance[] {
  const routes = routesOf(endpoints);
  return endpoints.map((endpoint) => ({ paths: pathsOf(routes, endpoint), identity: endpoint.identity }));
}

/** By path: the lists that may have changed for clients that are connected already. */
function changedLists(
  before: Config,
  next: Config,
  { backends: { changed }, policy }: Differences,
  backends: Backends,
): ReadonlyMap<string, readonly ListKind[]> {
  const others = new Set(changed.map(({ name }) => name));
  const lists = new Map<string, readonly ListKind[]>();
  for (const endpoint of next.endpoints) {
    const was = before.endpoints.find(({ path }) => path === endpoint.path);
    if (was === undefined) continue;
    const hasOthers = endpoint.backends.some((name) => others.has(name));
    if (policy || hasOthers || !isListedAlike(was, endpoint))
      lists.set(endpoint.path, kindsAt(was, endpoint, backends));
  }
  return lists;
}

function isListedAlike(a: EndpointConfig, b: EndpointConfig): boolean {
  const isBehind = a.backends.length === b.backends.length && a.backends.every((name, at) => name === b.backends[at]);
  return isBehind && a.names === b.names && a.profile.toolNames === b.profile.toolNames;
}

/**
 * The kinds of list changes that clients of the endpoint expect: a single backend declares them itself, for several the
 * gateway does.
 */
function kindsAt(was: EndpointConfig, endpoint: EndpointConfig, backends: Backends): readonly ListKind[] {
  const capabilitiesOf = (name: string) => backends.get(name)?.lastDiscovery?.capabilities ?? {};
  const [only = ''] = was.backends;
  if (was.backends.length === 1) return listKinds.filter(({ flag }) => offeredLists(capabilitiesOf(only))[flag]);
  const all = new Set([...was.backends, ...endpoint.backends]);
  return listKinds.filter(({ capability }) => [...all].some((name) => capability in capabilitiesOf(name)));
}
