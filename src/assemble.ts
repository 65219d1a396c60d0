/** Builds the gateway that a config describes. Together with main.ts, the only place that makes I/O and wires it up. */
import { createHash, randomBytes } from 'node:crypto';
import { about } from './about.ts';
import { assembleLeave } from './assemble-leave.ts';
import { Authority } from './authority.ts';
import { createBackend } from './backend/create.ts';
import { HttpRpcService } from './backend/rpc/service.ts';
import { createCursors } from './catalog/cursors.ts';
import { Shelf } from './catalog/shelf.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { Connections } from './connections.ts';
import { Backends } from './exchange/backends.ts';
import type { Warn } from './exchange/bridge/drive.ts';
import { Parking } from './exchange/bridge/parking.ts';
import type { Clock } from './exchange/clock.ts';
import type { BackendState } from './exchange/lane.ts';
import { Lanes } from './exchange/lanes.ts';
import type { RpcService } from './exchange/rpc.ts';
import { Sessions } from './exchange/sessions.ts';
import { ToolHeaders } from './exchange/tool-headers.ts';
import { Hub } from './gateway/hub.ts';
import { shownTo } from './gateway/leave/shown.ts';
import { UnmatchedNames } from './gateway/leave/unmatched.ts';
import { Lists, type ListsOptions } from './gateway/lists.ts';
import type { Digest } from './gateway/merged.ts';
import { outdating } from './gateway/reading.ts';
import { Targets } from './gateway/targets.ts';
import { Tenure } from './gateway/tenure.ts';
import { Work } from './gateway/work.ts';
import { Spine } from './gateway.ts';
import { createIdentity } from './identity/create.ts';
import { Door } from './identity/door.ts';
import type { Fetch } from './identity/ports.ts';
import type { Pages } from './ingress/pages.ts';
import { pathsOf, routesOf } from './ingress/routes.ts';
import { keyFileAt } from './key-files.ts';
import type { Audit } from './observe/audit.ts';
import type { Counters } from './observe/counters.ts';
import { createFault } from './observe/fault.ts';
import type { Log } from './observe/log.ts';
import { backendNotes } from './observe/notes.ts';
import type { OutwardFetch } from './outward/fetch.ts';
import { State } from './state.ts';
import { MemoryBus, MemoryEventLog, MemoryLease } from './store/memory.ts';
import type { EventLog, Records } from './store/ports.ts';
import { createSeal } from './store/seal.ts';

export interface Assembled {
  readonly gateway: Spine;
  readonly door: Door;
  readonly backends: Backends;
  readonly services: ReadonlyMap<string, RpcService>;
  /** What is served besides the endpoints. */
  readonly pages: readonly Pages[];
  /**
   * Lets people in, once it is known where we listen; nobody comes in before. Rejects with a StoreError where something
   * must be kept and cannot be.
   */
  open(url: string): Promise<void>;
  /** Lets work finish for so long, then ends everything, processes included. */
  close(drainMs: number): Promise<void>;
}

export interface AssembleOptions {
  readonly log: Log;
  readonly counters: Counters;
  onBackendState?(name: string, state: BackendState): void;
  /** The machine's own unless another is handed in. */
  readonly clock?: Clock;
  /** In this process's memory unless another is handed in. */
  readonly events?: EventLog;
  /** Milliseconds since 1970. */
  readonly timeOfDay?: () => number;
  readonly fetch?: Fetch;
  /** The client reads our standard output: records never go there. */
  readonly stdoutIsProtocol?: boolean;
  /** Where the config says unless another is handed in. */
  readonly audit?: Audit;
  /** In files, as the config says, unless others are handed in. Closed together with the gateway. */
  readonly records?: Records;
  readonly outwardFetch?: OutwardFetch;
  /** Whoever comes over stdio started us: there is nobody to sign in. */
  readonly overHttp?: boolean;
}

/** For the last records to reach their place: a disk that takes longer has failed. */
const AUDIT_CLOSE_MS = 2_000;

/** 192 bits, in characters that may stand in a header. */
const newId = () => randomBytes(24).toString('base64url');

/** A person who does not answer must not keep everybody else from the backend. */
function parkingRoom({ backends, limits }: Config, name: string): number {
  const backend = backends.find((candidate) => candidate.name === name);
  const hasProcesses = backend?.kind === 'stdio' && !backend.share;
  return hasProcesses ? Math.max(1, Math.floor(backend.maxProcesses / 2)) : limits.parkedPerBackend;
}

const digest: Digest = (...parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

export function assemble(config: Config, options: AssembleOptions): Assembled {
  const { limits } = config;
  const { log, counters, clock = systemClock, events = new MemoryEventLog(limits) } = options;
  const now = options.timeOfDay ?? Date.now;
  // Expiry is about the time of day, which the gateway's own clock need not know.
  const time = { now, after: (ms: number, action: () => void) => clock.after(ms, action) };
  const services = new Map(
    config.services.map((service) => [
      service.name,
      new HttpRpcService(service, {
        limits,
        clock,
        turned: (down) =>
          log.info(
            { service: service.name, ...(down && { reason: down.reason }) },
            down ? 'a service is down' : 'a service is back',
          ),
      }),
    ]),
  );
  const room = createIdentity(config.identity, {
    time,
    fetch: options.fetch ?? fetch,
    keyFileAt,
    warn: (text, facts) => log.warn(facts, text),
  });
  const door = new Door(room);
  const seal = createSeal(config.seal.key);
  const warn: Warn = (text, facts) => log.warn(facts, text);
  const authority = new Authority();
  const connections = new Connections(config, {
    door,
    authority,
    seal,
    time,
    warn,
    consented: (backend, principalKey) => backends.get(backend)?.lookAgain?.(principalKey),
  });
  const backends = new Backends(
    config.backends.map((backend) => {
      const presented = connections.presentedTo(backend);
      return createBackend(backend, {
        limits,
        clock,
        version: about.version,
        notes: backendNotes(backend.name, log, counters),
        ...(presented && { presented }),
      });
    }),
  );
  for (const backend of backends) {
    backend.onChange((state) => options.onBackendState?.(backend.name, state));
  }
  const timeOfDay = options.timeOfDay ?? Date.now;
  const { stdoutIsProtocol = false } = options;
  const { leave, audit } = assembleLeave(config, { ...options, log, counters, clock, timeOfDay, stdoutIsProtocol });
  const shown: ListsOptions['shown'] = (endpoint, row, principal) => shownTo(leave, endpoint, row, principal);
  const shelf = new Shelf(limits, () => clock.now());
  const hub = new Hub(backends, shelf, clock);
  const watch = (backend: string) => hub.watch(backend);
  const names = config.policy && new UnmatchedNames(config.policy, config.endpoints, warn);
  const read = names?.read.bind(names);
  const cursors = createCursors(seal);
  const lists = new Lists({ backends, shelf, watch, cursors, clock, limits, digest, warn, shown, read });
  const gateway = new Spine({
    limits,
    backends,
    services,
    door,
    tenure: new Tenure(clock, (principal) => door.stillGood(principal)),
    leave,
    shelf,
    lists,
    targets: new Targets(backends, lists),
    hub,
    lanes: new Lanes(backends, limits, clock, outdating(shelf)),
    sessions: new Sessions(limits, clock, new MemoryBus()),
    parking: new Parking(limits, {
      clock,
      seal,
      lease: new MemoryLease(() => clock.now()),
      newId,
      roomAt: (name) => parkingRoom(config, name),
    }),
    toolHeaders: new ToolHeaders(clock),
    consenting: connections.consenting,
    events,
    work: new Work(),
    clock,
    newId,
    fault: createFault(log, newId),
    warn,
    count: (name) => counters.count(name),
  });
  const state = new State(config, { now, warn, ...options });
  return {
    gateway,
    door,
    pages: [authority.pages, connections.pages],
    open: async (url) => {
      const routes = routesOf(config.endpoints);
      const entrances = config.endpoints.map((endpoint) => ({
        paths: pathsOf(routes, endpoint),
        identity: endpoint.identity,
      }));
      const isAuthority = config.authServer !== undefined && options.overHttp !== false;
      const own = isAuthority
        ? await authority.open(config, entrances, url, { ...(await state.open()), time, warn, userFileAt: keyFileAt })
        : undefined;
      await connections.open(url, state);
      door.open(config.identity, entrances, url, own);
    },
    backends,
    services,
    close: async (drainMs) => {
      await gateway.drain(drainMs);
      door.close();
      authority.close();
      connections.close();
      await Promise.all([...backends, ...services.values()].map((backend) => backend.close()));
      await audit?.close(AUDIT_CLOSE_MS);
      await state.close();
    },
  };
}
