/**
 * The config of all workers. The primary process reads it and hands out what it read, so that all have the same one. A
 * reload has two steps: each worker builds the next generation, and only where all could, all put it in force.
 */

import type { ConfigSource } from '../../app/reload/config-source.ts';
import { ConfigRefused } from '../../app/reload/reloader.ts';
import type { Config } from '../../config/config.ts';
import type { Log } from '../../observe/log.ts';
import type { NumberedSnapshot, PrimaryService, Seated, StartConfig } from './questions.ts';

/** To build a generation takes milliseconds; a worker that is starting answers once it has started. */
const PREPARE_MS = 5_000;
const COMMIT_MS = 5_000;

export class SharedConfig implements PrimaryService {
  readonly #source: Pick<ConfigSource, 'snapshot'>;
  readonly #log: Log;
  /** Those that have been told a config. */
  readonly #members = new Set<Seated>();
  #start: StartConfig;
  #current: Config;
  #reloading: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  constructor(current: Config, source: Pick<ConfigSource, 'snapshot'>, log: Log) {
    this.#current = current;
    this.#source = source;
    this.#log = log;
    this.#start = { first: source.snapshot };
  }

  get current(): Config {
    return this.#current;
  }

  joined(worker: Seated): void {
    worker.peer.answer('config', async () => {
      // What is in force is not decided before.
      await this.#reloading;
      this.#members.add(worker);
      return this.#start;
    });
  }

  left(worker: Seated): void {
    this.#members.delete(worker);
  }

  /** Rejects with ConfigRefused where one of the workers cannot: `abandon` follows, and all keep what they have. */
  renew(next: Config): Promise<void> {
    const renewing = this.#renew(next, { ...this.#source.snapshot, generation: next.generation });
    this.#reloading = renewing.catch(() => undefined);
    return renewing;
  }

  /** No config is put in force any more. */
  stop(): void {
    this.#isStopping = true;
  }

  async #renew(next: Config, latest: NumberedSnapshot): Promise<void> {
    const members = [...this.#members];
    this.#log.debug({ workers: members.length }, 'the workers prepare the new config');
    const asked = await Promise.allSettled(members.map(({ peer }) => peer.ask('prepare', latest, PREPARE_MS)));
    const refused = failuresOf(members, asked);
    if (refused.length > 0)
      throw new ConfigRefused(refused.map(({ worker, why }) => `worker ${worker.number}: ${why}`).join('; '));
    if (this.#isStopping) throw new ConfigRefused('the gateway stops');
    // From here on it is in force: a worker that starts gets it.
    this.#start = { first: this.#start.first, latest };
    this.#current = next;
    const committed = await Promise.allSettled(members.map(({ peer }) => peer.ask('commit', null, COMMIT_MS)));
    for (const { worker, why } of failuresOf(members, committed)) {
      this.#log.error({ worker: worker.number, why }, 'a worker did not put the new config in force: it is replaced');
      worker.kill();
    }
  }

  /** Nothing of the new config is left at any worker. Each of them counts that it was refused. */
  abandon(): void {
    for (const { peer } of this.#members) peer.ask('abandon', null, COMMIT_MS).catch(() => undefined);
  }
}

interface FailedWorker {
  readonly worker: Seated;
  readonly why: string;
}

function failuresOf(members: readonly Seated[], settled: readonly PromiseSettledResult<unknown>[]): FailedWorker[] {
  return members.flatMap((worker, at) => {
    const outcome = settled[at];
    return outcome?.status === 'rejected' ? [{ worker, why: (outcome.reason as Error).message }] : [];
  });
}
