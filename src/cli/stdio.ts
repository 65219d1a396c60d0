/**
 * `bascule stdio`: serves the client that started the process, over standard input and output. Stdout carries only the
 * protocol.
 */
import { assemble } from '../app/assemble.ts';
import { systemClock } from '../app/clock.ts';
import type { ConfigSource } from '../app/reload/config-source.ts';
import { Reloader } from '../app/reload/reloader.ts';
import { reloadOnSignal } from '../app/reload/signal.ts';
import type { Loaded } from '../config/load.ts';
import type { HttpServer } from '../downstream/listener.ts';
import { serveStdio } from '../downstream/stdio.ts';
import { logBackendState } from '../observe/backend-states.ts';
import { Counters } from '../observe/counters.ts';
import { ingressNotes } from '../observe/event-counts.ts';
import { createLog } from '../observe/log.ts';
import { StoreError } from '../store/errors.ts';
import { stopOnSignal } from './shutdown.ts';
import { servePages } from './stdio-pages.ts';

export async function serveOverStdio({ config, notices }: Loaded, source: ConfigSource): Promise<void> {
  const counters = new Counters();
  const log = createLog({ ...config.log, queueBytes: config.limits.logQueueBytes, counters });
  for (const notice of notices) log.info({}, notice);
  const endpoint = config.endpoints.find(({ protocol }) => protocol === undefined);
  if (endpoint === undefined) {
    log.error({}, 'the config has no endpoint of MCP');
    process.exitCode = 1;
    return;
  }
  const assembled = assemble(config, {
    ...{ log, counters, stdoutIsProtocol: true, overHttp: false },
    onBackendState: (backend, state) => logBackendState(log, backend, state),
  });
  let pages: HttpServer | undefined;
  const pagesAt = async () => {
    pages = await servePages(config, assembled, { log, counters });
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
  const stop = new AbortController();
  const served = serveStdio({
    input: process.stdin,
    output: process.stdout,
    gateway: assembled.gateway,
    endpoint,
    limits: config.limits,
    notes: ingressNotes(log, counters),
    signal: stop.signal,
  });
  const { path } = endpoint;
  const reloader = new Reloader({
    ...{ source, log, counters, clock: systemClock },
    current: () => assembled.config,
    renew: (next) => assembled.renew(next),
    // The client that started the process cannot use a different endpoint.
    refuses: ({ endpoints }) =>
      endpoints.some((other) => other.path === path && other.protocol === undefined)
        ? undefined
        : `its client is at ${path}, where there is no MCP any more`,
  });
  reloader.watch();
  reloadOnSignal(() => reloader.reload());
  // When the client is gone, running work need not finish. Child processes are still stopped in order.
  const ended = served.finally(async () => {
    reloader.close();
    await Promise.all([assembled.close(0), pages?.close({ drainMs: 0 })]);
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
