/**
 * `bascule serve --workers`: the primary process. It starts the workers, which share the port, replaces those that die,
 * passes signals on, and does what one process has to do for all: it reads the config, writes the audit records, counts
 * against the limits, and serves the metrics.
 */
import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../app/clock.ts';
import type { ConfigSource } from '../../app/reload/config-source.ts';
import { Reloader, reloadOnSignal } from '../../app/reload/reloader.ts';
import { IpcPeer } from '../../cluster/ipc.ts';
import { type Seat, seatVariables } from '../../cluster/seat.ts';
import type { Config } from '../../config/config.ts';
import type { Loaded } from '../../config/load.ts';
import { onCommandLine } from '../../config/overrides.ts';
import { ConfigError, printable } from '../../config/problems.ts';
import { Counters } from '../../observe/counters.ts';
import { createLog, type Log } from '../../observe/log.ts';
import { startMetrics } from '../../observe/metrics/listener.ts';
import { socketTaken } from '../cannot-listen.ts';
import { DealtConnections } from './dealt-connections.ts';
import type { PrimaryService, Seated, WorkerQuestions } from './questions.ts';
import { SharedAudit } from './shared-audit.ts';
import { SharedConfig } from './shared-config.ts';
import { SharedWorkerCounts } from './shared-counts.ts';
import { metricsOfAll } from './shared-metrics.ts';
import { SharedReadiness } from './shared-readiness.ts';
import { SharedStatus } from './shared-status.ts';

const SECRET_BYTES = 32;
const MOST_WORKERS = 64;
/** A worker that dies again and again is started again after so long, at the most. */
const LONGEST_PAUSE_MS = 30_000;
const FIRST_PAUSE_MS = 100;
/** A worker that ran for so long has not failed to start. */
const STOOD_MS = 10_000;

/** Throws a ConfigError. */
export function workerCount(text: string, { console: page }: Config): number {
  const count = text === 'auto' ? availableParallelism() : Number(text);
  if (!(Number.isInteger(count) && count >= 1 && count <= MOST_WORKERS))
    throw wrong('`--workers` has a wrong value', `a whole number from 1 to ${MOST_WORKERS}, or \`auto\``);
  if (count > 1 && page !== undefined)
    throw wrong('`--workers` does not go with `console` yet', 'one of them: the console shows one process');
  return count;
}

function wrong(message: string, expected: string): ConfigError {
  return new ConfigError([onCommandLine({ message, expected })]);
}

export async function serveByWorkers({ config }: Loaded, source: ConfigSource, count: number): Promise<void> {
  const counters = new Counters();
  const log = createLog({ ...config.log, queueBytes: config.limits.logQueueBytes, counters });
  const taken = await socketTaken(config.listen);
  if (taken !== undefined) {
    log.error({}, taken);
    process.exitCode = 1;
    return;
  }
  const primary = new Primary(count, log);
  const shared = new SharedConfig(config, source, log);
  const audit = new SharedAudit();
  const readiness = new SharedReadiness(count);
  const metrics = await serveMetrics(config, primary, log);
  const reloader = new Reloader({
    ...{ source, log, counters, clock: systemClock },
    current: () => shared.current,
    renew: (next) => shared.renew(next),
    refused: () => shared.abandon(),
  });
  reloader.watch();
  reloadOnSignal(() => reloader.reload());
  primary.onStopping = () => {
    reloader.close();
    shared.stop();
  };
  primary.onStop = async () => {
    readiness.close();
    await Promise.all([metrics?.close(), audit.close(), log.flush()]);
  };
  primary.start([
    ...[shared, audit, readiness, new SharedWorkerCounts(() => systemClock.now())],
    new SharedStatus(() => primary.workers, readiness),
  ]);
}

function serveMetrics({ metrics, listen }: Config, primary: Primary, log: Log) {
  if (metrics === undefined) return undefined;
  return startMetrics({
    listen: metrics,
    allowedHosts: listen.allowedHosts,
    text: (format) => metricsOfAll(primary.workers.values(), format),
    hostRefused: (host) =>
      log.warn({ host: printable(host) }, 'a scrape with this Host was refused: see listen.allowedHosts'),
    fault: (error) => log.error({ cause: String(error) }, 'the listener of metrics has a fault'),
  });
}

class Primary {
  /** A signal came, and the workers are told to stop. */
  onStopping: () => void = () => undefined;
  /** The workers have ended. */
  onStop: () => Promise<unknown> = async () => undefined;
  readonly #seats = new Map<number, Seated & { signal(signal: NodeJS.Signals): void }>();
  readonly #count: number;
  readonly #log: Log;
  readonly #dealt = new DealtConnections();
  readonly #directory = mkdtempSync(join(tmpdir(), 'bascule-workers-'));
  readonly #secret = randomBytes(SECRET_BYTES).toString('base64url');
  #services: readonly PrimaryService[] = [];
  #isStopping = false;
  /** Whether any worker has ever listened: before that, a failure is one of the config or the machine. */
  #hasServed = false;

  constructor(count: number, log: Log) {
    this.#count = count;
    this.#log = log;
  }

  get workers(): ReadonlyMap<number, Seated> {
    return this.#seats;
  }

  start(services: readonly PrimaryService[]): void {
    this.#services = services;
    cluster.on('listening', () => {
      this.#hasServed = true;
    });
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop());
    for (let number = 0; number < this.#count; number++) this.#seat(number, FIRST_PAUSE_MS);
  }

  /** `pauseMs`: before it is started again, where it dies soon. */
  #seat(number: number, pauseMs: number): void {
    const seat: Seat = { number, of: this.#count, directory: this.#directory, secret: this.#secret };
    const startedAt = Date.now();
    const worker = cluster.fork(seatVariables(seat));
    this.#dealt.watch(worker);
    const seated = {
      ...{ number, pid: worker.process.pid },
      peer: new IpcPeer<WorkerQuestions>({
        send: (message, sent) => worker.send(message, sent),
        on: (event: 'message' | 'disconnect', listener: (message: unknown) => void) => worker.on(event, listener),
      }),
      signal: (signal: NodeJS.Signals) => void worker.process.kill(signal),
      kill: () => void worker.process.kill('SIGKILL'),
    };
    this.#seats.set(number, seated);
    for (const service of this.#services) service.joined(seated);
    worker.on('error', (error) => this.#log.error({ worker: number, cause: error.message }, 'a worker has a fault'));
    worker.on('exit', (code, signal) => {
      this.#seats.delete(number);
      for (const service of this.#services) service.left?.(seated);
      if (this.#isStopping) this.#exitWhenEmpty();
      else if (!this.#hasServed) this.#giveUp(code);
      else {
        const pause = Date.now() - startedAt > STOOD_MS ? FIRST_PAUSE_MS : pauseMs;
        const why = signal ?? `exit code ${code}`;
        this.#log.warn({ worker: number, why, pauseMs: pause }, 'a worker ended and is replaced');
        const again = () => {
          if (!this.#isStopping) this.#seat(number, Math.min(2 * pause, LONGEST_PAUSE_MS));
        };
        setTimeout(again, pause);
      }
    });
  }

  #stop(): void {
    if (!this.#isStopping) this.onStopping();
    // Each worker treats the second signal as an order to stop at once.
    this.#isStopping = true;
    for (const worker of this.#seats.values()) worker.signal('SIGTERM');
    this.#exitWhenEmpty();
  }

  #giveUp(code: number): void {
    process.exitCode = code === 0 ? 1 : code;
    this.#stop();
  }

  #exitWhenEmpty(): void {
    if (this.#seats.size > 0) return;
    rmSync(this.#directory, { recursive: true, force: true });
    void this.onStop().finally(() => process.exit());
  }
}
