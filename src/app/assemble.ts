/** Builds the gateway that a config describes. Only app/ and cli/ create I/O objects and wire them together. */
import { randomBytes } from 'node:crypto';
import { PendingCalls } from '../bridge/pending-calls.ts';
import { createCursors } from '../catalog/cursors.ts';
import { ListCache } from '../catalog/list-cache.ts';
import { Lists, type ListsOptions } from '../catalog/lists.ts';
import { NameResolver } from '../catalog/name-resolver.ts';
import { outdating } from '../catalog/readers.ts';
import type { BackendConfig, Config, ServiceConfig } from '../config/config.ts';
import { type AddressedRequest, ClientAddresses } from '../downstream/callers.ts';
import type { Pages } from '../downstream/mounted-paths.ts';
import type { Clock } from '../exchange/clock.ts';
import { ToolHeaders } from '../exchange/tool-headers.ts';
import type { Backend, BackendState } from '../exchange/upstream-session.ts';
import { Authenticator } from '../identity/authenticator.ts';
import { createIdentity, type IdentityServices } from '../identity/create.ts';
import type { Fetch } from '../identity/ports.ts';
import type { RpcService } from '../jsonrpc/ports.ts';
import { HttpRpcService } from '../jsonrpc/service.ts';
import type { OutwardFetch } from '../oauth/fetch/fetch.ts';
import type { Audit } from '../observe/audit.ts';
import { logBackendState } from '../observe/backend-states.ts';
import { CoalescedLog } from '../observe/coalesced.ts';
import type { Counters } from '../observe/counters.ts';
import { watchDescriptors } from '../observe/descriptors.ts';
import { backendNotes } from '../observe/event-counts.ts';
import { createFault } from '../observe/fault.ts';
import type { Log } from '../observe/log.ts';
import type { Warn } from '../observe/ports.ts';
import { RefusalLog } from '../observe/refusals.ts';
import { BackendInFlight } from '../pipeline/backend-in-flight.ts';
import { CredentialExpiry } from '../pipeline/credential-expiry.ts';
import { CurrentGeneration } from '../pipeline/generation.ts';
import { InFlight } from '../pipeline/in-flight.ts';
import { Pipeline } from '../pipeline/pipeline.ts';
import { shownTo } from '../policy/shown-lists.ts';
import { Sessions } from '../session/sessions.ts';
import { MemoryBus, MemoryEventLog, MemoryLease } from '../store/memory.ts';
import type { EventLog, Records } from '../store/ports.ts';
import { createSeal } from '../store/seal.ts';
import { ListChangeNotifier } from '../subscriptions/list-change-notifier.ts';
import { Backends } from '../upstream/backends.ts';
import { createBackend } from '../upstream/create-backend.ts';
import { ProbeSlots } from '../upstream/probe-slots.ts';
import { UpstreamPool } from '../upstream/upstream-pool.ts';
import { about } from '../wire/about.ts';
import { keyHashes } from '../wire/keyed-hash.ts';
import { MetGateways } from '../wire/via.ts';
import { AuthServerHost } from './auth-server-host.ts';
import { AUDIT_CLOSE_MS, AuthorizerFactory, shownPrincipal } from './authorizer-factory.ts';
import { systemClock } from './clock.ts';
import { digest } from './digest.ts';
import { keyFileAt } from './key-files.ts';
import { lineageOf } from './lineage.ts';
import { ConfigApplier, entrancesOf, generationOf } from './reload/config-applier.ts';
import { Storage } from './storage.ts';
import { UpstreamOAuth } from './upstream-oauth.ts';

export interface Assembled {
  readonly gateway: Pipeline;
  readonly authenticator: Authenticator;
  /** The config in force. */
  readonly config: Config;
  /** Puts a new config in force, all of it at once. Settings that need a restart must have their old values in it. */
  renew(next: Config): void;
  readonly backends: Backends;
  readonly services: ReadonlyMap<string, RpcService>;
  /** What is served besides the endpoints. */
  readonly pages: readonly Pages[];
  /**
   * Begins to let requests in, once the address that we listen on is known. Rejects with a StoreError where something
   * must be stored and cannot be. `pagesAt`: where people find our pages, if not at `url`.
   */
  open(url: string, pagesAt?: () => Promise<string>): Promise<void>;
  /** Lets work finish for `drainMs`, then ends everything, processes included. */
  close(drainMs: number): Promise<void>;
}

export interface AssembleOptions {
  readonly log: Log;
  readonly counters: Counters;
  onBackendState?: (name: string, state: BackendState) => void;
  /** The system clock by default. */
  readonly clock?: Clock;
  /** In this process's memory by default. */
  readonly events?: EventLog;
  /** Milliseconds since 1970. */
  readonly timeOfDay?: () => number;
  readonly fetch?: Fetch;
  /** The client reads our standard output, so audit records never go there. */
  readonly stdoutIsProtocol?: boolean;
  /** As the config says by default. */
  readonly audit?: Audit;
  /** In files, as the config says, by default. Closed together with the gateway. */
  readonly records?: Records;
  readonly outwardFetch?: OutwardFetch;
  /** False for stdio: the client started the gateway, so no person signs in. */
  readonly overHttp?: boolean;
}

/** 192 random bits, in characters that are allowed in a header. */
const newId = () => randomBytes(24).toString('base64url');

/** Limits the pending calls of a backend: a person who does not answer must not block it for everyone else. */
function parkingRoom({ backends, limits }: Config, name: string): number {
  const backend = backends.find((candidate) => candidate.name === name);
  const hasProcesses = backend?.kind === 'stdio' && !backend.share;
  return hasProcesses ? Math.max(1, Math.floor(backend.maxProcesses / 2)) : limits.parkedPerBackend;
}

/** The client's address. The current config says which proxies are trusted to report it. */
function addresses(trustedProxies: () => readonly string[]): (caller: AddressedRequest) => string {
  let trusted: readonly string[] | undefined;
  let callers = new ClientAddresses([]);
  return (caller) => {
    const current = trustedProxies();
    if (current !== trusted) {
      trusted = current;
      callers = new ClientAddresses(current);
    }
    return callers.of(caller);
  };
}

const signInRefusals = {
  wrong: 'sign-in refused: wrong name or password',
  wait: 'sign-in refused: too many wrong passwords, by address or name; it is open again after a while',
} as const;

export function assemble(config: Config, options: AssembleOptions): Assembled {
  keyHashes(randomBytes(4).readInt32LE(), randomBytes(4).readInt32LE());
  const { limits } = config;
  const { log, counters, clock = systemClock, events = new MemoryEventLog(limits) } = options;
  const now = options.timeOfDay ?? Date.now;
  const onBackendState = options.onBackendState ?? ((name, state) => logBackendState(log, name, state));
  // Expiry depends on the time of day, which `clock` need not know.
  const time = { now, after: (ms: number, action: () => void) => clock.after(ms, action) };
  const makeService = (settings: ServiceConfig): RpcService =>
    new HttpRpcService(settings, {
      limits,
      clock,
      turned: (down) =>
        log.info(
          { service: settings.name, ...(down && { reason: down.reason }) },
          down ? 'a service is down' : 'a service is back',
        ),
    });
  const services = new Map(config.services.map((settings) => [settings.name, makeService(settings)]));
  const makeRoom = (identity: Config['identity']): IdentityServices =>
    createIdentity(identity, {
      time,
      fetch: options.fetch ?? fetch,
      keyFileAt,
      warn: (text, facts) => log.warn(facts, text),
    });
  const coalesced = new CoalescedLog({ log, after: (ms, action) => clock.after(ms, action) });
  const refusals = new RefusalLog(coalesced);
  const addressOf = addresses(() => renewing.config.listen.trustedProxies);
  const authenticator = new Authenticator(makeRoom(config.identity), ({ path, failure, principal, credentials }) => {
    const address = credentials === 'local' ? undefined : addressOf(credentials);
    const who = principal && shownPrincipal(principal);
    refusals.tell({ failure, endpoint: path, address, ...(who && { principal: who }) });
    currentGeneration.now.authorizer.recordEarly({ reason: failure.reason, endpoint: path, principal, address });
  });
  const seal = createSeal(config.seal.key);
  const warn: Warn = (text, facts) => log.warn(facts, text);
  const authority = new AuthServerHost();
  const connections = new UpstreamOAuth(config, {
    authenticator,
    authority,
    time,
    warn,
    consented: (backend, principalKey) => backends.get(backend)?.lookAgain?.(principalKey),
  });
  const instance = newId();
  const lineage = lineageOf(process.env, config.source);
  const metGateways = new MetGateways();
  const hasMet = (id: string) => metGateways.has(id);
  const descent = { via: { own: instance, outer: lineage.ids, hasMet }, environment: lineage.environment(instance) };
  const slots = new ProbeSlots(limits.probesAtOnce, clock);
  const makeBackend = (settings: BackendConfig, since: number): Backend => {
    const notes = backendNotes(settings.name, log, counters);
    const presented = connections.presentedTo(settings);
    const backend = createBackend(settings, {
      ...{ limits, clock, version: about.version, notes, slots, since, ...descent },
      ...(presented && { presented }),
    });
    backend.onChange((state) => onBackendState(backend.name, state));
    return backend;
  };
  const backends: Backends = new Backends(config.backends.map((settings) => makeBackend(settings, config.generation)));
  const { stdoutIsProtocol = false } = options;
  const authorizers = new AuthorizerFactory({
    ...options,
    log,
    counters,
    clock,
    timeOfDay: now,
    stdoutIsProtocol,
    refusals,
  });
  const currentGeneration = new CurrentGeneration(generationOf(config, authorizers.adopt(authorizers.make(config))));
  const backendInFlight = new BackendInFlight();
  const listCache = new ListCache(limits, () => clock.now());
  const listChanges = new ListChangeNotifier(backends, listCache, clock);
  const watch = (backend: string) => listChanges.watch(backend);
  const late: ListsOptions['late'] = (backend, row, principal) => listChanges.late(backend, row, principal);
  const shown: ListsOptions['shown'] = (endpoint, row, principal) =>
    shownTo(currentGeneration.now.authorizer, endpoint, row, principal);
  const read: ListsOptions['read'] = (endpoint, list, view) => authorizers.read(endpoint, list, view);
  const cursors = createCursors(seal);
  const lists = new Lists({ backends, listCache, watch, late, cursors, clock, limits, digest, warn, shown, read });
  const gateway: Pipeline = new Pipeline({
    limits,
    backends,
    services,
    authenticator,
    credentialExpiry: new CredentialExpiry(clock, (principal) => authenticator.stillGood(principal)),
    currentGeneration,
    backendInFlight,
    listCache,
    lists,
    nameResolver: new NameResolver(
      backends,
      lists,
      ({ endpoint: { path }, row: { action }, name, principal, failure }) => {
        refusals.tell({ failure, endpoint: path, principal: shownPrincipal(principal), action, name });
        currentGeneration.now.authorizer.recordEarly({
          reason: failure.reason,
          endpoint: path,
          principal,
          action,
          name,
        });
      },
    ),
    listChanges,
    upstreams: new UpstreamPool(backends, limits, clock, outdating(listCache)),
    sessions: new Sessions(limits, clock, new MemoryBus()),
    pendingCalls: new PendingCalls(limits, {
      clock,
      seal,
      lease: new MemoryLease(() => clock.now()),
      newId,
      roomAt: (name) => parkingRoom(renewing.config, name),
    }),
    toolHeaders: new ToolHeaders(clock),
    get consenting() {
      return connections.consenting;
    },
    events,
    work: new InFlight(),
    clock,
    newId,
    instance,
    metGateways,
    fault: createFault(log, newId),
    warn,
    count: (name) => counters.count(name),
  });
  const stopWatching = watchDescriptors(log, counters, (ms, action) => clock.after(ms, action));
  const state = new Storage(config, { now, warn, ...options });
  const renewing: ConfigApplier = new ConfigApplier(config, {
    ...{ gateway, authenticator, backends, backendInFlight, currentGeneration, authorizers, clock },
    ...{ services, connections, makeBackend, makeService, makeRoom },
  });
  return {
    gateway,
    authenticator,
    pages: [authority.pages, connections.pages],
    open: async (url, pagesAt = async () => url) => {
      const isAuthority = config.authServer !== undefined && options.overHttp !== false;
      const own = isAuthority
        ? await authority.open(config, entrancesOf(config), url, {
            ...(await state.open()),
            time,
            warn,
            userFileAt: keyFileAt,
            refused: (why, address) => coalesced.tell('warn', `${why} ${address}`, { address }, signInRefusals[why]),
          })
        : undefined;
      await connections.open(pagesAt, state);
      await authorizers.probed();
      renewing.open(url, own);
    },
    renew: (next) => renewing.renew(next),
    get config() {
      return renewing.config;
    },
    backends,
    services,
    close: async (drainMs) => {
      await gateway.drain(drainMs);
      authenticator.close();
      authority.close();
      connections.close();
      await Promise.all([renewing.close(), ...[...backends, ...services.values()].map((backend) => backend.close())]);
      await authorizers.close(AUDIT_CLOSE_MS);
      await state.close();
      stopWatching();
    },
  };
}
