/** `bascule serve`: serves HTTP until a signal stops it. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Assembled, assemble } from '../app/assemble.ts';
import { systemClock } from '../app/clock.ts';
import { loadCounts } from '../app/load-counts.ts';
import { PinLoader } from '../app/load-pins.ts';
import { loadProxy } from '../app/load-proxy.ts';
import { loadReplicas } from '../app/load-replicas.ts';
import { loadStore } from '../app/load-store.ts';
import { loadTls } from '../app/load-tls.ts';
import { loadTraces } from '../app/load-traces.ts';
import { Observing } from '../app/observing.ts';
import { readinessOf } from '../app/readiness.ts';
import type { ConfigSource } from '../app/reload/config-source.ts';
import { Reloader, reloadOnSignal } from '../app/reload/reloader.ts';
import { workersForwarding } from '../app/workers-forwarding.ts';
import type { Config } from '../config/config.ts';
import type { Loaded } from '../config/load.ts';
import { type HttpServer, startHttp } from '../downstream/listener.ts';
import { logBackendState } from '../observe/backend-states.ts';
import { Counters } from '../observe/counters.ts';
import { LineWriter } from '../observe/line-writer.ts';
import { createLog } from '../observe/log.ts';
import type { WireTrace } from '../observe/wire-trace.ts';
import { StoreError } from '../store/errors.ts';
import { backendLine, greeting } from './banner.ts';
import { cannotListen, socketTaken } from './cannot-listen.ts';
import { frontOf } from './front.ts';
import { stopOnSignal, TRACES_MS } from './shutdown.ts';
import type { WorkerMember } from './workers/member.ts';

/** How long the last responses may take to reach their clients. */
const FLUSH_MS = 1_000;
/** How long a replica that is gone still says so to those that have not heard of it. */
const LINGER_MS = 500;
/** Descriptors for files, pipes to a few processes, and health checks beyond the connection limit. */
const RESERVED_DESCRIPTORS = 48;
/** With fewer connections the gateway would be useless. */
const LEAST_CONNECTIONS = 8;

export async function serve(
  { config, notices }: Loaded,
  source: ConfigSource,
  wireTrace: WireTrace | undefined,
  member?: WorkerMember,
): Promise<void> {
  const seat = member?.seat;
  /** One of the workers speaks for all. */
  const isFirst = seat === undefined || seat.number === 0;
  const counters = new Counters();
  const queueBytes = config.limits.logQueueBytes;
  const log = createLog({ ...config.log, queueBytes, counters, worker: seat?.number });
  // Keep serving when the reader of stdout stalls or goes away, too.
  const stdout = new LineWriter({
    stream: process.stdout,
    queueBytes,
    droppedLine: (count) => `(${count} lines were dropped: the reader did not keep up)\n`,
  });
  const say = (text: string) => {
    if (isFirst) stdout.write(`${text}\n`);
  };
  let greeted = false;
  const early: string[] = [];
  const observing = new Observing(config.log, {
    ...{ log, counters, clock: systemClock, requestLine: log.frequent },
    isMeasured: config.metrics !== undefined,
  });
  const traces = await loadTraces(config, { log, counters });
  const store = await loadStore(config, log);
  const replicas = await loadReplicas(config, store, {
    ...{ log, portOffset: seat?.number ?? 0, current: () => assembled.config },
  });
  const counts = await loadCounts({
    ...{ store, worker: seat, clock: systemClock, log, primary: member?.counts },
    members: replicas && (() => replicas.members.size),
  });
  const pins = new PinLoader();
  await pins.prepare(config);
  const assembled: Assembled = assemble(config, {
    ...{ log, counters, wireTrace, traces, store, counts, pins, watchers: observing.watchers, control: isFirst },
    ...(member && seat && { worker: seat, stateSecret: seat.secret, auditSink: (to) => member.auditSink(to) }),
    ...(replicas && { member: replicas.member }),
    onBackendState: (name, state) => {
      member?.readinessChanged();
      // Where a person sees both streams, report the state once.
      if (!(process.stdout.isTTY && process.stderr.isTTY)) logBackendState(log, name, state);
      const line = backendLine(name, state);
      if (greeted) say(line);
      else early.push(line);
    },
  });
  const connectionsTotal = connectionsWithinDescriptors(config.limits.connectionsTotal);
  if (connectionsTotal < config.limits.connectionsTotal)
    log.debug({ connectionsTotal }, 'the limit of open files allows fewer connections than limits.connectionsTotal');
  let isOpen = false;
  let server: HttpServer;
  const abandon = async (why: string) => {
    await assembled.close(0);
    await observing.close();
    log.error({}, why);
    process.exitCode = 1;
    // The channel to the primary process would keep a worker alive.
    if (member !== undefined) process.disconnect();
  };
  let tls: Awaited<ReturnType<typeof loadTls>>;
  try {
    // The primary process has done that for its workers.
    const taken = member === undefined ? await socketTaken(config.listen) : undefined;
    if (taken !== undefined) return await abandon(taken);
    tls = await loadTls(config, log);
    server = await startHttp({
      ...{ listen: config.listen, tls },
      currentGeneration: assembled.currentGeneration,
      gateway: frontOf(assembled, wireTrace),
      limits: { ...config.limits, connectionsTotal },
      ready: () =>
        replicas?.isLeaving ? readinessOf(assembled, false) : (member?.readiness ?? readinessOf(assembled, isOpen)),
      notes: observing.notes,
      makesRequestIds: config.log.requests,
      clock: systemClock,
      pages: assembled.pages,
      forwarding: replicas?.forwarding ?? (seat && workersForwarding(seat)),
    });
  } catch (error) {
    await abandon(cannotListen(config.listen, error, '--port'));
    return;
  }
  const told = [...notices];
  try {
    const proxy = await loadProxy(assembled, log);
    if (proxy !== undefined) told.push(`the proxy is at ${await server.open(proxy)}; see \`bascule proxy env\``);
  } catch (error) {
    await abandon(cannotListen(config.proxy?.listen ?? config.listen, error, 'proxy.listen'));
    await server.close({ drainMs: 0 });
    return;
  }
  try {
    const { allowedHosts } = config.listen;
    const metrics = observing.metricsOf(assembled, server);
    const loadFor = (next: Config) => pins.prepare(next);
    member?.serve({ assembled, source, counters, metrics, loadFor, isOpen: () => isOpen });
    const url =
      config.metrics && member === undefined ? await observing.serve(config.metrics, allowedHosts, metrics) : undefined;
    if (url !== undefined) told.push(`metrics are served at ${url}`);
  } catch (error) {
    await abandon(cannotListen(config.metrics ?? config.listen, error, 'metrics.listen'));
    await server.close({ drainMs: 0 });
    return;
  }
  const reloader = new Reloader({
    ...{ source, log, counters, clock: systemClock },
    current: () => assembled.config,
    renew: (next) => assembled.renew(next),
    prepare: (next) => pins.prepare(next),
  });
  if (member === undefined) {
    reloader.watch();
    reloadOnSignal(() => {
      tls?.reload();
      return reloader.reload();
    });
  }
  try {
    await assembled.open(server.url);
    await replicas?.joined(assembled.gateway.places);
    isOpen = true;
    member?.readinessChanged();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    await abandon(error.message);
    await server.close({ drainMs: 0 });
    return;
  }
  const { serveControl } = await import('./control/serve-control.ts');
  const control = isFirst
    ? await serveControl(assembled, log, member && ((operate) => member.operateAll(operate)))
    : undefined;
  // Before the greeting: those who read it may stop the gateway at once.
  const stop = async () => {
    log.info({}, 'stopping');
    reloader.close();
    member?.close();
    await control?.close();
    if (replicas !== undefined) {
      await replicas.leave();
      await assembled.gateway.flush();
      await sleep(config.limits.replicaLeaveMs);
    }
    await assembled.close(config.limits.drainMs, async () => {
      await replicas?.close();
      // Others still send what they had begun to send.
      if (replicas !== undefined) await sleep(LINGER_MS);
    });
    tls?.close();
    await server.close({ drainMs: FLUSH_MS });
    await traces?.close(TRACES_MS);
    await observing.close();
    log.info({ counts: counters.snapshot() }, 'stopped');
    await log.flush();
  };
  stopOnSignal(config.limits, stop, member !== undefined);
  say(greeting(config, server.url, told, { console: assembled.operating?.link(), accounts: assembled.accountsUrl }));
  greeted = true;
  for (const line of early) say(line);
  for (const { name } of assembled.backends) logBackendState(log, name, { state: 'starting' });
  probeAll(assembled);
}

/**
 * Discovers each backend at start, so that people see its state and the first client need not wait. A failure becomes a
 * state, reported by onBackendState.
 */
function probeAll({ backends }: Assembled): void {
  for (const backend of backends) backend.discover().catch(() => undefined);
}

/** A quarter of the descriptors is for backends: connections to them, and three pipes for each process. */
function connectionsWithinDescriptors(wanted: number): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    if (soft === undefined) return wanted;
    const most = Math.floor((Number(soft) * 3) / 4) - RESERVED_DESCRIPTORS;
    return Math.min(wanted, Math.max(LEAST_CONNECTIONS, most));
  } catch {
    // The system does not report a limit.
    return wanted;
  }
}
