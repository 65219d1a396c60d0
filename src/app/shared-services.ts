/** Makes what outlives a generation. Each of these takes backends and rules from the generation of the moment. */
import { resolve } from 'node:path';
import { PendingCalls } from '../bridge/pending-calls.ts';
import { Cursors } from '../catalog/cursors.ts';
import { ListCache } from '../catalog/list-cache.ts';
import { listAll } from '../catalog/list-reader.ts';
import { Lists } from '../catalog/lists.ts';
import { NameResolver, type UnknownName } from '../catalog/name-resolver.ts';
import { outdating } from '../catalog/readers.ts';
import type { Config } from '../config/config.ts';
import { ToolHeaders } from '../exchange/tool-headers.ts';
import { shownPrincipal } from '../identity/principal.ts';
import type { Counters } from '../observe/counters.ts';
import { createFault } from '../observe/fault.ts';
import type { Log } from '../observe/log.ts';
import type { RefusalLog } from '../observe/refusals.ts';
import { CredentialExpiry } from '../pipeline/credential-expiry.ts';
import type { CurrentGeneration } from '../pipeline/generation.ts';
import { BackendInFlight, InFlight } from '../pipeline/in-flight.ts';
import type { SharedServices } from '../pipeline/services.ts';
import { shownTo } from '../policy/filtered-list.ts';
import { systemPermit } from '../policy/permit.ts';
import { SessionRecords } from '../session/session-records.ts';
import { SessionSeal } from '../session/session-seal.ts';
import { Sessions } from '../session/sessions.ts';
import type { StoreEngine } from '../store/engine.ts';
import { MemoryBus, MemoryLease } from '../store/memory.ts';
import type { KeyedSeal } from '../store/ports.ts';
import { createSeal, createSealFor } from '../store/seal.ts';
import { ListChangeNotifier } from '../subscriptions/list-change-notifier.ts';
import { TaskIds } from '../tasks/task-id.ts';
import { Ids } from '../upstream/envelope.ts';
import { UpstreamPool } from '../upstream/upstream-pool.ts';
import { approvalDesk } from './approval-desk.ts';
import type { BuiltGeneration } from './build-generation.ts';
import type { Counts } from './counts.ts';
import { digest } from './digest.ts';
import type { Storage } from './storage.ts';
import { shareOfEnded, type WorkerPlace } from './worker-share.ts';

const ids = new Ids();
const halfId = () => ids.next().slice(1, -1);
/** 192 random bits, in characters that are allowed in a header: two ids, because those are drawn many at a time. */
export const newId = () => `${halfId()}${halfId()}`;

type Given = Pick<
  SharedServices,
  | ('clock' | 'warn' | 'events' | 'instance' | 'metGateways' | 'observer' | 'sessionEnded')
  | ('tracer' | 'sampledObserver' | 'timeOfDay' | 'sessionContinued')
>;

export interface SharedServicesOptions extends Given {
  readonly currentGeneration: CurrentGeneration<BuiltGeneration>;
  readonly log: Log;
  readonly counters: Counters;
  readonly refusals: RefusalLog;
  readonly storage: Storage;
  readonly worker?: WorkerPlace | undefined;
  /** This process, as ids name it. Absent: the number of the worker. */
  readonly member?: string | undefined;
  readonly counts: Pick<Counts, 'slots'>;
  /** Seals states and cursors, where the config has no key. Absent: a key of this process. */
  readonly stateSecret?: string | undefined;
  /** Absent: this process is the only one. */
  readonly store?: StoreEngine | undefined;
  /** The address of the console. Undefined where there is none. */
  readonly consoleUrl: () => string | undefined;
}

export function createSharedServices(config: Config, options: SharedServicesOptions): SharedServices {
  const { limits } = config;
  const member = options.member ?? String(options.worker?.number ?? 0);
  const { currentGeneration, log, counters, refusals, clock, warn, events, instance, metGateways } = options;
  const { observer, sessionContinued, sessionEnded, tracer, sampledObserver, storage, timeOfDay, worker, stateSecret } =
    options;
  const { counts } = options;
  const seal = createSeal(config.seal.key ?? stateSecret);
  const endedLimits = worker === undefined ? limits : shareOfEnded(limits, worker);
  const sessionRecords = new SessionRecords({
    records: async () => (await storage.open()).records,
    ...{ clock, timeOfDay, warn, digest, limits: endedLimits },
    mayLoseData: options.store !== undefined,
  });
  options.store?.onReady(() => void sessionRecords.readEnds());
  const bus = options.store?.bus ?? new MemoryBus();
  let sessionSeal: SessionSeal | undefined;
  let taskIds: TaskIds | undefined;
  const listCache = new ListCache(limits, () => clock.now());
  const listChanges = new ListChangeNotifier(currentGeneration, listCache, clock);
  const lists = new Lists({
    ...{ currentGeneration, listCache, clock, limits, digest, warn, cursors: new Cursors(seal) },
    watch: (backend) => listChanges.watch(backend),
    late: (backend, row, principal) => listChanges.late(backend, row, principal),
    shown: (endpoint, row, principal) => shownTo(currentGeneration.now.authorizer, endpoint, row, principal),
    pins: () => currentGeneration.now.pins,
    read: (endpoint, list, view) => currentGeneration.now.unmatchedNames?.read(endpoint, list, view),
  });
  const onUnknown = ({ endpoint: { path }, row: { action }, name, principal, failure }: UnknownName) => {
    refusals.tell({ failure, endpoint: path, principal: shownPrincipal(principal), action, name });
    const { reason } = failure;
    currentGeneration.now.authorizer.trail.early({ reason, endpoint: path, principal, action, name });
  };
  return {
    ...{
      limits,
      currentGeneration,
      listCache,
      listChanges,
      lists,
      toolLists: new Map(),
      events,
      clock,
      timeOfDay,
      newId,
      instance,
      metGateways,
      warn,
    },
    ...{ member },
    credentialExpiry: new CredentialExpiry(clock, currentGeneration),
    backendInFlight: new BackendInFlight(),
    nameResolver: new NameResolver(currentGeneration, lists, onUnknown),
    upstreams: new UpstreamPool(currentGeneration, limits, clock, outdating(listCache)),
    sessions: new Sessions(limits, {
      slots: {
        perPrincipal: counts.slots('sessions of', limits.sessionsPerPrincipal),
        total: counts.slots('sessions', limits.sessionsTotal),
      },
      clock,
      bus,
      records: sessionRecords,
    }),
    sessionRecords,
    sessionSeal: () => {
      sessionSeal ??= new SessionSeal(instanceName(config), storage.seals('session'));
      return sessionSeal;
    },
    taskIds: () => {
      taskIds ??= new TaskIds({ instance: instanceName(config), seals: taskSeals(config, options), timeOfDay });
      return taskIds;
    },
    pendingCalls: new PendingCalls(limits, {
      // Also with a shared store: a pending call is taken at the process that has it.
      ...{ clock, seal, newId, member, lease: new MemoryLease(() => clock.now()) },
      roomAt: (name) => roomForPending(currentGeneration.now.config, name),
    }),
    approvals: approvalDesk({
      ...{ currentGeneration, limits, clock, timeOfDay, bus, newId, consoleUrl: options.consoleUrl },
      records: async () => (await storage.open()).records,
    }),
    toolHeaders: new ToolHeaders(clock, (upstream) =>
      listAll(systemPermit('list'), 'tools/list', upstream, limits.listCacheBytes),
    ),
    work: new InFlight(),
    fault: createFault(log, newId),
    ...{ observer, sessionContinued, sessionEnded, tracer, sampledObserver },
    count: (name) => counters.count(name),
  };
}

/** Limits the pending calls of a backend: a person who does not answer must not block it for everyone else. */
function roomForPending({ backends, limits }: Config, name: string): number {
  const backend = backends.find((candidate) => candidate.name === name);
  const hasProcesses = backend?.kind === 'stdio' && !backend.share;
  return hasProcesses ? Math.max(1, Math.floor(backend.maxProcesses / 2)) : limits.parkedPerBackend;
}

/** Without a key that is kept, tasks end with this process and those that share its secret. */
function taskSeals({ seal }: Config, { storage, stateSecret }: SharedServicesOptions): readonly KeyedSeal[] {
  const kept = storage.seals('task');
  return kept.length > 0 ? kept : [createSealFor('task', seal.key ?? stateSecret ?? newId())];
}

/** Gateways of one user may have the same key; none takes the sessions of another. */
function instanceName({ instance, source, listen: { host, port }, replicas, store }: Config): string {
  const place = replicas === undefined ? [resolve(source), host, port] : ['replicas', store.prefix];
  return instance.name ?? JSON.stringify(place);
}
