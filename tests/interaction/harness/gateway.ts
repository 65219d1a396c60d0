/** A whole gateway on a real socket: config text in, addresses out. Everything is ended when the test is over. */
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Assembled, type AssembleOptions, assemble } from '../../../src/app/assemble.ts';
import { systemClock } from '../../../src/app/clock.ts';
import { loadCounts } from '../../../src/app/load-counts.ts';
import { PinLoader } from '../../../src/app/load-pins.ts';
import { loadProxy } from '../../../src/app/load-proxy.ts';
import { loadStore } from '../../../src/app/load-store.ts';
import { loadTraces } from '../../../src/app/load-traces.ts';
import { Observing } from '../../../src/app/observing.ts';
import { readinessOf } from '../../../src/app/readiness.ts';
import { ConfigSource } from '../../../src/app/reload/config-source.ts';
import { Reloader } from '../../../src/app/reload/reloader.ts';
import { TRACES_MS } from '../../../src/cli/shutdown.ts';
import type { Config } from '../../../src/config/config.ts';
import { startHttp } from '../../../src/downstream/listener.ts';
import { Counters } from '../../../src/observe/counters.ts';
import type { Log } from '../../../src/observe/log.ts';
import type { Metrics } from '../../../src/observe/metrics/metrics.ts';

export interface LogEntry {
  readonly level: string;
  readonly text: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface TestGateway {
  /** Without a path. */
  readonly origin: string;
  /** Of the proxy, where the config has one. */
  readonly proxy: string;
  /** The address of one backend alone, or of `/mcp`. */
  url(backend?: string): string;
  readonly assembled: Assembled;
  readonly config: Config;
  readonly counters: Counters;
  readonly metrics: Metrics;
  readonly log: readonly LogEntry[];
  /** Replaces the config file, and reloads it. */
  reload(config: ConfigValue): void;
  close(drainMs?: number): Promise<void>;
}

/** A bascule.yaml as a value: `backends`, `endpoints`, `limits`, `listen`, whatever the file may have. */
export type ConfigValue = Readonly<Record<string, unknown>>;

/** Replacements for clocks, fetch and stores. */
export type Ports = Pick<
  AssembleOptions,
  'clock' | 'events' | 'timeOfDay' | 'fetch' | 'audit' | 'records' | 'outwardFetch' | 'control'
> & {
  /** Called when it listens and does not serve yet. */
  readonly beforeOpen?: (origin: string) => Promise<void>;
};

export async function startGateway(config: ConfigValue, ports: Ports = {}): Promise<TestGateway> {
  const gateway = await launchGateway(config, ports);
  onTestFinished(() => gateway.close(0));
  return gateway;
}

/** For suites that share one gateway. The caller closes it. */
export async function launchGateway(value: ConfigValue, ports: Ports = {}, port = 0): Promise<TestGateway> {
  let text = JSON.stringify(value);
  // State of one gateway must not meet that of another.
  const stateHome = join(tmpdir(), `bascule-test-${randomUUID()}`);
  const source = new ConfigSource({
    path: 'bascule.yaml',
    cwd: '/',
    env: { ...process.env, XDG_STATE_HOME: stateHome },
    // JSON is YAML.
    readFile: (path) => (path === '/bascule.yaml' ? text : readFileSync(path, 'utf8')),
    overrides: { port },
  });
  const { config } = source.load();
  const entries: LogEntry[] = [];
  const keep = (level: string) => (facts: Readonly<Record<string, unknown>>, text: string) =>
    void entries.push({ level, facts, text });
  const log: Log = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
  const counters = new Counters();
  const traces = await loadTraces(config, { log, counters });
  const store = await loadStore(config, log);
  const pins = new PinLoader();
  await pins.prepare(config);
  const clock = ports.clock ?? systemClock;
  const counts = await loadCounts({ store, worker: undefined, clock, log });
  const observing = new Observing(config.log, { log, counters, clock, isMeasured: true });
  const assembled = assemble(config, {
    log,
    counters,
    traces,
    store,
    counts,
    pins,
    watchers: observing.watchers,
    ...ports,
  });
  let isOpen = false;
  const server = await startHttp({
    listen: config.listen,
    currentGeneration: assembled.currentGeneration,
    gateway: assembled.gateway,
    limits: config.limits,
    ready: () => readinessOf(assembled, isOpen),
    notes: observing.notes,
    makesRequestIds: config.log.requests,
    clock,
    pages: assembled.pages,
  });
  const metrics = observing.metricsOf(assembled, server);
  const proxy = await loadProxy(assembled, log);
  const proxyUrl = proxy === undefined ? '' : await server.open(proxy);
  await ports.beforeOpen?.(server.url);
  await assembled.open(server.url);
  isOpen = true;
  const reloader = new Reloader({
    ...{ source, log, counters, clock },
    current: () => assembled.config,
    renew: (next) => assembled.renew(next),
    prepare: (next) => pins.prepare(next),
  });
  let closing: Promise<void> | undefined;
  return {
    origin: server.url,
    proxy: proxyUrl,
    url: (backend) =>
      backend === undefined ? `${server.url}/mcp` : `${server.url}/servers/${encodeURIComponent(backend)}/mcp`,
    assembled,
    config,
    counters,
    metrics,
    log: entries,
    reload: (next) => {
      text = JSON.stringify(next);
      void reloader.reload();
    },
    close: (drainMs = 0) => {
      closing ??= assembled
        .close(drainMs)
        .then(() => server.close({ drainMs: 200 }))
        .then(() => traces?.close(TRACES_MS))
        .then(() => observing.close())
        .then(() => rmSync(stateHome, { recursive: true, force: true }));
      return closing;
    },
  };
}
