/** Builds the gateway that a config describes. Only app/ and cli/ create I/O objects and wire them together. */
import { randomBytes } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { Pages } from '../downstream/mounted-paths.ts';
import type { Clock } from '../exchange/clock.ts';
import type { BackendState } from '../exchange/upstream-session.ts';
import { within } from '../exchange/within.ts';
import { basesOf } from '../identity/auth-metadata.ts';
import type { Fetch } from '../identity/documents.ts';
import { shownPrincipal } from '../identity/principal.ts';
import { accountsPath } from '../oauth/client/settings.ts';
import type { OutwardFetch } from '../oauth/fetch/fetch.ts';
import { type Audit, sessionTag } from '../observe/audit.ts';
import { CoalescedLog } from '../observe/coalesced.ts';
import type { Counters } from '../observe/counters.ts';
import { watchDescriptors } from '../observe/descriptors.ts';
import type { Log } from '../observe/log.ts';
import type { Warn } from '../observe/ports.ts';
import { RefusalLog } from '../observe/refusals.ts';
import type { Traces } from '../observe/traces/open.ts';
import { messageObserver, rpcObserver, type Watcher } from '../observe/watchers.ts';
import type { WireTrace } from '../observe/wire-trace.ts';
import { McpGateway } from '../pipeline/gateway.ts';
import { CurrentGeneration, type Generation } from '../pipeline/generation.ts';
import type { SharedServices } from '../pipeline/services.ts';
import type { StoreEngine } from '../store/engine.ts';
import { MemoryEventLog } from '../store/memory.ts';
import type { EventLog, Records } from '../store/ports.ts';
import { keyHashes } from '../wire/duplicate-keys.ts';
import { MetGateways } from '../wire/via.ts';
import { AuthServerHost } from './auth-server-host.ts';
import {
  type BuiltGeneration,
  buildGeneration,
  entrancesOf,
  type Listening,
  openAuthenticator,
} from './build-generation.ts';
import { systemClock } from './clock.ts';
import { ConsoleHost } from './console-host.ts';
import { type Counts, ownCounts } from './counts.ts';
import { PartMaker } from './generation-parts.ts';
import { keyFileAt } from './key-files.ts';
import { lineageOf } from './lineage.ts';
import { PinLoader, PinMaker } from './load-pins.ts';
import type { AuthorizerOptions } from './make-authorizer.ts';
import { type PreparedConfig, prepareConfig } from './reload/config-applier.ts';
import { RetiredGenerations } from './retired-generations.ts';
import { createSharedServices, newId } from './shared-services.ts';
import { Storage } from './storage.ts';
import { UpstreamOAuth } from './upstream-oauth.ts';
import type { WorkerPlace } from './worker-share.ts';

export interface Assembled {
  readonly gateway: McpGateway;
  readonly currentGeneration: CurrentGeneration;
  /** Of the current generation. */
  readonly config: Config;
  readonly backends: Generation['backends'];
  readonly services: Generation['services'];
  /** What outlives a generation, for metrics and status. */
  readonly shared: Pick<SharedServices, 'sessions' | 'pendingCalls' | 'work' | 'lists' | 'toolLists' | 'upstreams'>;
  /**
   * Puts a new config in force, all of it at once. Throws, and changes nothing, where that fails. Settings that need a
   * restart must have their old values in it.
   */
  renew(next: Config): void;
  /** The same in two steps. */
  prepare(next: Config): PreparedConfig;
  /** Facts about the gateway, and acts, for the user who runs it. Absent without a console and a control socket. */
  readonly operating: Pick<ConsoleHost, 'operate' | 'link'> | undefined;
  /** Where people connect their own accounts at backends, once requests are let in. Absent: no backend wants one. */
  readonly accountsUrl: string | undefined;
  /** What is served besides the endpoints. */
  readonly pages: readonly Pages[];
  /**
   * Begins to let requests in, once the address that we listen on is known. Rejects with a StoreError where something
   * must be stored and cannot be. `pagesAt`: where people find our pages, if not at `url`.
   */
  open(url: string, pagesAt?: () => Promise<string>): Promise<void>;
  /**
   * Lets work finish for `drainMs`, then ends everything, processes included. `drained` is called before the store is
   * closed.
   */
  close(drainMs: number, drained?: () => Promise<void> | undefined): Promise<void>;
}

export interface AssembleOptions {
  readonly log: Log;
  readonly counters: Counters;
  onBackendState?: (name: string, state: BackendState) => void;
  /** The system clock by default. */
  readonly clock?: Clock;
  /** State that is shared with other processes. Absent: files, and this process's memory. Closed with the gateway. */
  readonly store?: StoreEngine | undefined;
  /** In the store, or in this process's memory, by default. */
  readonly events?: EventLog;
  /** Milliseconds since 1970. */
  readonly timeOfDay?: () => number;
  readonly fetch?: Fetch;
  /** The client reads our standard output, so audit records never go there. */
  readonly stdoutIsProtocol?: boolean;
  /** As the config says by default. */
  readonly audit?: Audit;
  /** What writes the records. This process by default. */
  readonly auditSink?: AuthorizerOptions['auditSink'];
  /** In files, as the config says, by default. Closed together with the gateway. */
  readonly records?: Records;
  readonly outwardFetch?: OutwardFetch;
  /** What watches messages and calls. None by default. */
  readonly watchers?: readonly Watcher[];
  /** Shows every message of backends. Those of clients: `tracedGateway`. */
  readonly wireTrace?: WireTrace | undefined;
  /** Absent: trace context passes unchanged. */
  readonly traces?: Traces | undefined;
  /** Prepared for the config. Absent: the config has no pins. */
  readonly pins?: PinLoader | undefined;
  /** A control socket answers questions about the gateway, also where there is no console. */
  readonly control?: boolean;
  /** Over all processes of the gateway. Absent: this process is the only one. Closed with the gateway. */
  readonly counts?: Counts | undefined;
  /** Which process this is, where the gateway has several. */
  readonly worker?: WorkerPlace | undefined;
  /** The same, as ids name it. */
  readonly member?: string | undefined;
  /** What all of them seal states with, where the config has no key. */
  readonly stateSecret?: string | undefined;
  /** False for stdio: the client started the gateway, so no person signs in. */
  readonly overHttp?: boolean;
}

const signInRefusals = {
  wrong: 'sign-in refused: wrong name or password',
  wait: 'sign-in refused: too many wrong passwords from this address or for this name; it is possible again later',
} as const;

export function assemble(config: Config, options: AssembleOptions): Assembled {
  keyHashes(randomBytes(4).readInt32LE(), randomBytes(4).readInt32LE());
  const { limits } = config;
  const { log, counters, clock = systemClock, store } = options;
  const { events = store?.events ?? new MemoryEventLog(limits) } = options;
  const { worker, stateSecret, timeOfDay = Date.now, stdoutIsProtocol = false, onBackendState, traces } = options;
  const { counts = ownCounts(timeOfDay) } = options;
  const { attempts } = counts;
  const warn: Warn = (text, facts) => log.warn(facts, text);
  const after = (ms: number, action: () => void) => clock.after(ms, action);
  // Expiry depends on the time of day, which `clock` need not know.
  const time = { now: timeOfDay, after };
  const coalesced = new CoalescedLog({ log, after });
  const refusals = new RefusalLog(coalesced);
  const instance = newId();
  const metGateways = new MetGateways();
  const lineage = lineageOf(process.env, config.source);
  const via = { own: instance, outer: lineage.ids, hasMet: (id: string) => metGateways.has(id) };
  const authority = new AuthServerHost();
  const isOperated = config.console !== undefined || options.control === true;
  const operating = isOperated
    ? new ConsoleHost(config, { clock, timeOfDay, warn, refusals, authority, attempts })
    : undefined;
  const watchers: readonly Watcher[] = [
    ...(options.watchers ?? []),
    ...(operating === undefined ? [] : [operating.watcher]),
  ];
  const currentGeneration = new CurrentGeneration<BuiltGeneration>();
  const oauth = new UpstreamOAuth({ currentGeneration, authority, time, refusals, warn, store, attempts });
  const pins = new PinMaker(options.pins ?? new PinLoader(), {
    ...{ warn, counters },
    authorizer: () => currentGeneration.now.authorizer,
  });
  const parts = new PartMaker({
    ...{ limits, log, counters, clock, time, timeOfDay, warn, stdoutIsProtocol, refusals, oauth, onBackendState },
    ...{ watchers, traces, worker, counts, pins, auditSink: options.auditSink },
    fetch: options.fetch ?? fetch,
    audit: options.audit,
    wireTrace: options.wireTrace,
    currentAudit: () => currentGeneration.now.audit,
    descent: { via, environment: lineage.environment(instance) },
  });
  currentGeneration.swap(buildGeneration(config, parts));
  let listening: Listening | undefined;
  const storage = new Storage(config, { now: timeOfDay, after, warn, ...options });
  const shared = createSharedServices(config, {
    ...{ currentGeneration, log, counters, refusals, clock, timeOfDay, warn, events, instance, metGateways },
    ...{ storage, worker, stateSecret, store, counts, member: options.member },
    consoleUrl: () => operating?.address,
    observer: messageObserver(watchers),
    sampledObserver: traces && messageObserver([...watchers, traces]),
    tracer: traces?.messages,
    sessionContinued: ({ id, principal, endpoint: { path: endpoint } }) => {
      const facts = { principal: shownPrincipal(principal), session: sessionTag(id), endpoint };
      coalesced.tell('info', `continued ${facts.principal}`, facts, 'a session that began elsewhere is continued');
    },
    sessionEnded: (session, via) => {
      for (const watcher of watchers) watcher.sessionEnded?.(session, via);
    },
  });
  const gateway = new McpGateway(shared, rpcObserver(watchers));
  operating?.connect({ ...shared, gateway, accountsOf: (principal) => oauth.accountsOf(principal) });
  const retired = new RetiredGenerations(shared.backendInFlight, clock);
  const stopWatching = watchDescriptors(log, counters, after);
  const prepare = (next: Config) => {
    const build = (of: Config, before: BuiltGeneration) => buildGeneration(of, parts, before, listening);
    return prepareConfig(next, { build, currentGeneration, gateway, retired });
  };
  return {
    gateway,
    currentGeneration,
    shared,
    operating,
    pages: [authority.pages, oauth.pages, ...(operating === undefined ? [] : [operating.pages])],
    get accountsUrl() {
      const base = listening && basesOf(currentGeneration.now.config.identity, listening.url)[0];
      return base !== undefined && oauth.pages.owns(accountsPath) ? `${base}${accountsPath}` : undefined;
    },
    get config() {
      return currentGeneration.now.config;
    },
    get backends() {
      return currentGeneration.now.backends;
    },
    get services() {
      return currentGeneration.now.services;
    },
    open: async (url, pagesAt = async () => url) => {
      const isAuthority = config.authServer !== undefined && options.overHttp !== false;
      const own = isAuthority
        ? await authority.open(config, entrancesOf(currentGeneration.now), url, {
            ...(await storage.open()),
            ...oauth.forProvider(await storage.open()),
            time,
            warn,
            attempts,
            userFileAt: keyFileAt,
            refused: (why, address) => coalesced.tell('warn', `${why} ${address}`, { address }, signInRefusals[why]),
          })
        : undefined;
      await oauth.open(pagesAt, storage);
      if (store !== undefined)
        await within(clock, limits.storeConnectMs, shared.sessionRecords.readEnds(), () => undefined);
      await currentGeneration.now.audit?.probe();
      listening = { url, own };
      openAuthenticator(currentGeneration.now, listening);
      await operating?.open(url);
    },
    renew: (next) => prepare(next).commit(),
    prepare,
    close: async (drainMs, drained) => {
      await operating?.close();
      await gateway.drain(drainMs);
      await drained?.();
      authority.close();
      oauth.close();
      await retired.close(currentGeneration.now);
      counts.close();
      await storage.close();
      await currentGeneration.now.recording?.file.close();
      stopWatching();
    },
  };
}
