/**
 * `bascule serve --workers`: the primary process. It starts the workers, which share the port, replaces those that die,
 * passes signals on, has the counts that they share, and serves the metrics of all of them.
 */
import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../app/clock.ts';
import { PrimaryCounts, type WorkerChannel } from '../cluster/primary-counts.ts';
import { type Seat, seatVariables } from '../cluster/seat.ts';
import type { Config } from '../config/config.ts';
import type { Loaded } from '../config/load.ts';
import { onCommandLine } from '../config/overrides.ts';
import { ConfigError, printable } from '../config/problems.ts';
import { startMetrics } from '../observe/metrics/listener.ts';
import { WorkerMetrics } from './worker-metrics.ts';

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

export async function serveByWorkers({ config }: Loaded, count: number): Promise<void> {
  const primary = new Primary(count);
  const { metrics } = config;
  if (metrics !== undefined) {
    const all = new WorkerMetrics(() => primary.workers);
    const listener = await startMetrics({
      listen: metrics,
      allowedHosts: config.listen.allowedHosts,
      text: (format) => all.text(format),
      hostRefused: (host) => complain(`a scrape with the Host ${printable(host)} was refused: see listen.allowedHosts`),
      fault: complain,
    });
    primary.onStop = () => listener.close();
  }
  primary.start();
}

class Primary {
  onStop: (() => Promise<void>) | undefined;
  readonly #seats = new Map<number, Worker>();
  readonly #count: number;
  readonly #directory = mkdtempSync(join(tmpdir(), 'bascule-workers-'));
  readonly #secret = randomBytes(SECRET_BYTES).toString('base64url');
  readonly #counts = new PrimaryCounts(() => systemClock.now());
  #isStopping = false;
  /** Whether any worker has ever listened: before that, a failure is one of the config or the machine. */
  #hasServed = false;

  constructor(count: number) {
    this.#count = count;
  }

  get workers(): ReadonlyMap<number, Worker> {
    return this.#seats;
  }

  start(): void {
    cluster.on('listening', () => {
      this.#hasServed = true;
    });
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop());
    process.on('SIGHUP', () => this.#signal('SIGHUP'));
    for (let number = 0; number < this.#count; number++) this.#seat(number, FIRST_PAUSE_MS);
  }

  /** `pauseMs`: before it is started again, where it dies soon. */
  #seat(number: number, pauseMs: number): void {
    const seat: Seat = { number, of: this.#count, directory: this.#directory, secret: this.#secret };
    const startedAt = Date.now();
    const worker = cluster.fork(seatVariables(seat));
    this.#seats.set(number, worker);
    worker.on('error', complain);
    const forget = this.#counts.serve(String(number), channelTo(worker));
    worker.on('exit', (code, signal) => {
      this.#seats.delete(number);
      forget();
      if (this.#isStopping) this.#exitWhenEmpty();
      else if (!this.#hasServed) this.#giveUp(code);
      else {
        const pause = Date.now() - startedAt > STOOD_MS ? FIRST_PAUSE_MS : pauseMs;
        complain(`worker ${number} ended (${signal ?? `exit code ${code}`}) and is started again in ${pause} ms`);
        const again = () => {
          if (!this.#isStopping) this.#seat(number, Math.min(2 * pause, LONGEST_PAUSE_MS));
        };
        setTimeout(again, pause);
      }
    });
  }

  #stop(): void {
    // Each worker treats the second signal as an order to stop at once.
    this.#isStopping = true;
    this.#signal('SIGTERM');
    this.#exitWhenEmpty();
  }

  #giveUp(code: number): void {
    process.exitCode = code === 0 ? 1 : code;
    this.#stop();
  }

  #signal(signal: NodeJS.Signals): void {
    for (const { process: child } of this.#seats.values()) child.kill(signal);
  }

  #exitWhenEmpty(): void {
    if (this.#seats.size > 0) return;
    rmSync(this.#directory, { recursive: true, force: true });
    void Promise.resolve(this.onStop?.()).finally(() => process.exit());
  }
}

function channelTo(worker: Worker): WorkerChannel {
  return {
    on: (event, hear) => worker.on(event, hear),
    send: (message, sent) => worker.send(message, undefined, undefined, sent),
  };
}

function complain(what: unknown): void {
  process.stderr.write(`${what instanceof Error ? what.message : String(what)}\n`);
}
