/**
 * What outlives the process, and the fetch for addresses that others have named. Both are opened once, when they are
 * needed.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { createOutwardFetch, type Outward, type OutwardFetch } from '../oauth/fetch/fetch.ts';
import type { Warn } from '../observe/ports.ts';
import type { StoreEngine } from '../store/engine.ts';
import { StoreError } from '../store/errors.ts';
import { openFileStore } from '../store/file/open.ts';
import type { KeyedSeal, Records, Seal } from '../store/ports.ts';
import { createSeal, createSealFor, openingWith } from '../store/seal.ts';
import { SealedRecords } from '../store/sealed.ts';
import { loadSecret } from '../store/secret.ts';

/** A store that could not be opened is not tried again for this long: each attempt examines files. */
const RETRY_MS = 1_000;

export interface StateOptions {
  readonly now: () => number;
  readonly after: (ms: number, action: () => void) => () => void;
  readonly warn: Warn;
  readonly records?: Records;
  /** Its records are used instead of files. */
  readonly store?: StoreEngine | undefined;
  readonly outwardFetch?: OutwardFetch;
}

export interface OpenState {
  readonly records: Records;
  /** Uses the stored key, so that what is sealed for a browser stays valid after a restart. */
  readonly seal: Seal;
  readonly outwardFetch: OutwardFetch;
}

/** What clients hold sealed, and what is lost where no key can be kept. */
const sealed = { session: 'sessions', task: 'tasks' } as const;

export class Storage {
  readonly #config: Config;
  readonly #options: StateOptions;
  #open: Promise<OpenState> | undefined;
  #stopWaiting: () => void = () => undefined;
  #outward: Outward | undefined;

  constructor(config: Config, options: StateOptions) {
    this.#config = config;
    this.#options = options;
  }

  /** Whether an earlier run has stored something. */
  get isThere(): boolean {
    const { records, store } = this.#options;
    if (records !== undefined || store !== undefined) return true;
    return existsSync(join(this.#config.store.dir, 'records.mdb'));
  }

  /** Rejects with a StoreError. A call a second later tries again. */
  open(): Promise<OpenState> {
    this.#open ??= this.#load().catch((error: unknown) => {
      this.#stopWaiting = this.#options.after(RETRY_MS, () => {
        this.#open = undefined;
      });
      throw error;
    });
    return this.#open;
  }

  /** Of sealed ids. None where no key can be kept. */
  seals(purpose: keyof typeof sealed): readonly KeyedSeal[] {
    const { seal, store } = this.#config;
    const sealWith = (secret: string) => createSealFor(purpose, secret);
    try {
      const secret = loadSecret({ configured: seal.key, dir: store.dir });
      return [secret, ...(seal.previous ?? [])].map(sealWith);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#options.warn(`${sealed[purpose]} will not survive a restart: ${error.message}`, {});
      return [];
    }
  }

  async close(): Promise<void> {
    const open = await this.#open?.catch(() => undefined);
    this.#stopWaiting();
    await open?.records.close();
    await this.#options.store?.records.close();
    await this.#outward?.close();
  }

  async #load(): Promise<OpenState> {
    const { seal, store, authServer } = this.#config;
    const { records: given, store: engine, outwardFetch, now, warn } = this.#options;
    const secret = given === undefined ? loadSecret({ configured: seal.key, dir: store.dir }) : seal.key;
    const own = openingWith(createSeal(secret), (seal.previous ?? []).map(createSeal));
    const kept = async () => (engine ?? (await openFileStore({ dir: store.dir, now, warn }))).records;
    // The records contain tokens and keys, so they are sealed: the store alone reveals nothing.
    const records = given ?? new SealedRecords(await kept(), own, warn);
    if (outwardFetch !== undefined) return { records, seal: own, outwardFetch };
    this.#outward = createOutwardFetch({ allow: authServer?.allowAddresses ?? [] });
    return { records, seal: own, outwardFetch: this.#outward.fetch };
  }
}
