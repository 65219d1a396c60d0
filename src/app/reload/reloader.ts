/**
 * Reads the config again, on request or when its files change, and puts it in force if it is valid. A broken config
 * changes nothing, and the log says what is wrong with it.
 */
import { closeSync, openSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { exposure } from '../../config/listen.ts';
import { ConfigError } from '../../config/problems.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { Counters } from '../../observe/counters.ts';
import type { Log } from '../../observe/log.ts';
import { sourceStack } from '../../observe/source-stack.ts';
import type { ConfigSource } from './config-source.ts';
import { differences, withoutRestart } from './differences.ts';

export interface ReloaderOptions {
  readonly source: Pick<ConfigSource, 'load' | 'hasChanged' | 'stamp'>;
  readonly log: Log;
  readonly counters: Counters;
  readonly clock: Clock;
  /** The config in force. */
  readonly current: () => Config;
  /** Throws, or rejects, where the config cannot be put in force; the old one is in force then. */
  readonly renew: (next: Config) => void | Promise<void>;
  /** Loads code that only the next config needs. Undefined: there is none. */
  readonly prepare?: (next: Config) => Promise<void> | undefined;
  /** A config was not put in force, whatever the reason. */
  readonly refused?: () => void;
  /** Why this config cannot be put in force here. */
  readonly refuses?: (next: Config) => string | undefined;
}

/**
 * How often the files are checked. They are read once two checks see the same state: a file that an editor or a copy is
 * still writing is incomplete, and may be a config without its policy.
 */
const LOOK_MS = 500;

export class Reloader {
  readonly #options: ReloaderOptions;
  #seen: string | undefined;
  #stop: (() => void) | undefined;
  #isClosed = false;
  #isReloading = false;
  #isWantedAgain = false;

  constructor(options: ReloaderOptions) {
    this.#options = options;
  }

  /** Checks the files until `close`. */
  watch(): void {
    this.#stop = this.#options.clock.after(LOOK_MS, () => {
      if (this.#options.current().watch) this.#look();
      this.watch();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.();
  }

  /** Never rejects. One at a time: what is wanted meanwhile is done afterwards. */
  async reload(): Promise<void> {
    this.#isWantedAgain = true;
    if (this.#isReloading) return;
    this.#isReloading = true;
    // A signal may still come while the gateway shuts down.
    while (this.#isWantedAgain && !this.#isClosed) {
      this.#isWantedAgain = false;
      await this.#readAgain();
    }
    this.#isReloading = false;
  }

  async #readAgain(): Promise<void> {
    const { source, log, counters, current, renew, prepare } = this.#options;
    const before = current();
    this.#seen = undefined;
    try {
      const { config, notices } = source.load(before.generation + 1);
      const { told, needRestart } = differences(before, config);
      const next = withoutRestart(before, config);
      const why = refusal(next) ?? this.#options.refuses?.(next);
      if (why !== undefined) throw new ConfigRefused(why);
      if (needRestart.length > 0)
        log.warn({ settings: needRestart }, `these settings need a restart: ${needRestart.join(', ')}`);
      if (told.length === 0) {
        log.info({ generation: before.generation }, 'config read again: nothing has changed');
        return;
      }
      const preparing = prepare?.(next);
      if (preparing !== undefined) await preparing;
      if (this.#isClosed) return;
      const renewing = renew(next);
      if (renewing !== undefined) await renewing;
      counters.count('config.reloaded');
      for (const notice of notices) log.info({}, notice);
      log.info({ generation: next.generation }, `config reloaded, generation ${next.generation}: ${told.join('; ')}`);
    } catch (error) {
      if (this.#isClosed) return;
      counters.count('config.refused');
      this.#options.refused?.();
      const isOurs = error instanceof ConfigError || error instanceof ConfigRefused;
      const text = isOurs ? error.message : sourceStack(error);
      log.error({ generation: before.generation }, `config not reloaded, the old one stays in force: ${text}`);
    }
  }

  #look(): void {
    const { source } = this.#options;
    if (!source.hasChanged) {
      this.#seen = undefined;
      return;
    }
    const { stamp } = source;
    if (stamp === this.#seen) void this.reload();
    else this.#seen = stamp;
  }
}

export class ConfigRefused extends Error {}

/** The listen address stays the old one until a restart, so the new endpoints must be safe at the old address. */
function refusal({ listen, endpoints }: Config): string | undefined {
  if (endpoints.every(({ identity }) => identity.kind !== 'open')) return undefined;
  const exposed = exposure(listen, false);
  return exposed && `the gateway listens on ${listen.host} until it is restarted: ${exposed.message}`;
}

/** SIGHUP reloads the config. When the terminal was closed, it ends the process as usual. */
export function reloadOnSignal(reload: () => unknown): void {
  const hadTerminal = process.stdin.isTTY || process.stdout.isTTY;
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
