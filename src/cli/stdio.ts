/**
 * `bascule stdio`: serves the client that started the process, over standard input and output. Stdout carries only the
 * protocol.
 */
import { type Assembled, assemble } from '../app/assemble.ts';
import { systemClock } from '../app/clock.ts';
import { loadCounts } from '../app/load-counts.ts';
import { PinLoader } from '../app/load-pins.ts';
import { loadStore } from '../app/load-store.ts';
import { loadTraces } from '../app/load-traces.ts';
import { Observing } from '../app/observing.ts';
import type { ConfigSource } from '../app/reload/config-source.ts';
import { Reloader, reloadOnSignal } from '../app/reload/reloader.ts';
import type { Config } from '../config/config.ts';
import type { Loaded } from '../config/load.ts';
import type { IngressNotes } from '../downstream/events.ts';
import { ingressOf } from '../downstream/ingress.ts';
import { type HttpServer, startHttp } from '../downstream/listener.ts';
import { serveStdio } from '../downstream/stdio.ts';
import { logBackendState } from '../observe/backend-states.ts';
import { Counters } from '../observe/counters.ts';
import { createLog, type Log } from '../observe/log.ts';
import type { WireTrace } from '../observe/wire-trace.ts';
import { StoreError } from '../store/errors.ts';
import { cannotListen } from './cannot-listen.ts';
import { frontOf } from './front.ts';
import { stopOnSignal, TRACES_MS } from './shutdown.ts';

export async function serveOverStdio(
  { config, notices }: Loaded,
  source: ConfigSource,
  wireTrace: WireTrace | undefined,
): Promise<void> {
  const counters = new Counters();
  const log = createLog({ ...config.log, queueBytes: config.limits.logQueueBytes, counters });
  for (const notice of notices) log.info({}, notice);
  const endpoint = config.endpoints.find(({ protocol }) => protocol === undefined);
  if (endpoint === undefined) {
    log.error({}, 'the config has no MCP endpoint');
    process.exitCode = 1;
    return;
  }
  const observing = new Observing(config.log, {
    ...{ log, counters, clock: systemClock, requestLine: log.frequent },
    isMeasured: config.metrics !== undefined,
  });
  const { watchers, notes } = observing;
  const traces = await loadTraces(config, { log, counters });
  const store = await loadStore(config, log);
  const counts = await loadCounts({ store, worker: undefined, clock: systemClock, log });
  const pins = new PinLoader();
  await pins.prepare(config);
  const assembled = assemble(config, {
    ...{ log, counters, wireTrace, traces, store, counts, pins, watchers, stdoutIsProtocol: true, overHttp: false },
    onBackendState: (backend, state) => logBackendState(log, backend, state),
  });
  let pages: HttpServer | undefined;
  const pagesAt = async () => {
    pages = await servePages(config, assembled, notes);
    return pages.url;
  };
  try {
    // No client uses this address, but the endpoint's demands apply to the local principal, too.
    await assembled.open('http://localhost', pagesAt);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.error({}, error.message);
    await assembled.close(0);
    await log.flush();
    process.exit(1);
  }
  await serveMetrics(config, assembled, { observing, log });
  const stop = new AbortController();
  const served = serveStdio({
    input: process.stdin,
    output: process.stdout,
    gateway: frontOf(assembled, wireTrace),
    endpoint,
    limits: config.limits,
    notes,
    signal: stop.signal,
  });
  const { path } = endpoint;
  const reloader = new Reloader({
    ...{ source, log, counters, clock: systemClock },
    current: () => assembled.config,
    renew: (next) => assembled.renew(next),
    prepare: (next) => pins.prepare(next),
    // The client that started the process cannot use a different endpoint.
    refuses: ({ endpoints }) =>
      endpoints.some((other) => other.path === path && other.protocol === undefined)
        ? undefined
        : `the client of this process uses the endpoint ${path}, which the new config does not have`,
  });
  reloader.watch();
  reloadOnSignal(() => reloader.reload());
  // When the client is gone, running work need not finish. Child processes are still stopped in order.
  const ended = served.finally(async () => {
    reloader.close();
    await Promise.all([assembled.close(0), pages?.close({ drainMs: 0 })]);
    await traces?.close(TRACES_MS);
    await observing.close();
    await log.flush();
  });
  stopOnSignal(config.limits, async () => {
    await assembled.gateway.drain(0);
    stop.abort();
    await ended;
  });
  await ended;
  process.exit();
}

/**
 * Every client of this config starts a gateway of its own, and one of them has the address first. The others serve
 * their clients without metrics.
 */
async function serveMetrics(
  { metrics, listen: { allowedHosts } }: Config,
  assembled: Assembled,
  { observing, log }: { readonly observing: Observing; readonly log: Log },
): Promise<void> {
  if (metrics === undefined) return;
  try {
    const url = await observing.serve(metrics, allowedHosts, observing.metricsOf(assembled, { streams: 0 }));
    log.info({}, `metrics are served at ${url}`);
  } catch (error) {
    log.warn({}, `there are no metrics: ${cannotListen(metrics, error, 'metrics.listen')}`);
  }
}

const LOOPBACK = '127.0.0.1';

/**
 * Serves the consent pages, and nothing else, over HTTP on this machine: a person gives consent in a browser.
 * Uses the config's port, because authorization servers may have that one registered; a free port where it is taken.
 */
async function servePages(
  { listen, limits }: Config,
  { gateway, currentGeneration, pages }: Assembled,
  notes: IngressNotes,
): Promise<HttpServer> {
  const now = {
    ...ingressOf([], { ...listen, host: LOOPBACK }),
    get authenticator() {
      return currentGeneration.now.authenticator;
    },
  };
  const at = (port: number) =>
    startHttp({
      listen: { host: LOOPBACK, port },
      ...{ currentGeneration: { now }, gateway, limits, pages },
      ready: () => ({ ready: true, backends: {} }),
      notes,
      clock: systemClock,
    });
  try {
    return await at(listen.port);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    return at(0);
  }
}
