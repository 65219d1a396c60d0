/**
 * From one config to the next in one step: first everything is made that could fail, then all of it is put in force without
 * a pause in which anybody could see a part of it. Backends that are the same stay as they are, with their processes and
 * sessions; those that are gone finish what they have in hand.
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
  /** `since`: the generation that brings it. */
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

  /** Lets people in, once it is known where we listen. `own`: the issuer in this process, where there is one. */
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

    // First, as the only one of these steps that does more than replace what there is.
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
    // So that people see what it is, and the first client does not wait for it. Failures are states.
    for (const backend of made) backend.discover().catch(() => undefined);
  }

  /** Ends those that were taken out of service and are not done yet. */
  async close(): Promise<void> {
    await Promise.all([...this.#retiring].map((backend) => backend.close()));
  }

  /** What is with it already may finish for a while. */
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

/** By path: which lists may be others for somebody who is there already. */
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

/** What its clients were told that it would tell of: one backend says so itself, for several the gateway does. */
function kindsAt(was: EndpointConfig, endpoint: EndpointConfig, backends: Backends): readonly ListKind[] {
  const capabilitiesOf = (name: string) => backends.get(name)?.lastDiscovery?.capabilities ?? {};
  const [only = ''] = was.backends;
  if (was.backends.length === 1) return listKinds.filter(({ flag }) => offeredLists(capabilitiesOf(only))[flag]);
  const all = new Set([...was.backends, ...endpoint.backends]);
  return listKinds.filter(({ capability }) => [...all].some((name) => capability in capabilitiesOf(name)));
}
