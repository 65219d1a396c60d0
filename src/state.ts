/** What outlives the process: opened when something needs it, and at most once. */
import type { OutwardFetch } from './authserver/ports.ts';
import type { Config } from './config/config.ts';
import { openFileStore } from './store/file/open.ts';
import type { Records } from './store/ports.ts';
import { createSeal } from './store/seal.ts';
import { sealedRecords } from './store/sealed.ts';
import { loadSecret } from './store/secret.ts';

export interface StateOptions {
  readonly now: () => number;
  readonly warn: (text: string, facts: Readonly<Record<string, unknown>>) => void;
  readonly records?: Records;
  readonly outwardFetch?: OutwardFetch;
}

export interface OpenState {
  readonly records: Records;
  readonly outwardFetch: OutwardFetch;
}

export class State {
  readonly #config: Config;
  readonly #options: StateOptions;
  #open: Promise<OpenState> | undefined;

  constructor(config: Config, options: StateOptions) {
    this.#config = config;
    this.#options = options;
  }

  /** Rejects with a StoreError. */
  open(): Promise<OpenState> {
    this.#open ??= this.#load();
    return this.#open;
  }

  async close(): Promise<void> {
    const open = await this.#open?.catch(() => undefined);
    await open?.records.close();
  }

  async #load(): Promise<OpenState> {
    const { now, warn, outwardFetch = fetch } = this.#options;
    const records = this.#options.records ?? (await this.#files(now, warn));
    return { records, outwardFetch };
  }

  /** Tokens and keys are among what is kept: whoever finds the file alone finds nothing. */
  async #files(now: StateOptions['now'], warn: StateOptions['warn']): Promise<Records> {
    const { seal, store } = this.#config;
    const secret = loadSecret({ configured: seal.key, dir: store.dir });
    const { records } = await openFileStore({ dir: store.dir, now, warn });
    return sealedRecords(records, createSeal(secret), warn);
  }
}
