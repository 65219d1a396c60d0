/**
 * What is stored of sessions whose ids are sealed: that they have ended, so that none lives again, and what their
 * clients asked for after `initialize`. A session about which nothing is stored has not ended, and asked for nothing.
 */
import type { Digest } from '../catalog/merged-list.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Warn } from '../observe/ports.ts';
import type { Records } from '../store/ports.ts';
import type { Session } from './session.ts';

const COLLECTION = 'session';
const ENDED = 'ended';
/** Of one record: half of what a store takes. */
const MOST_BYTES = 128 * 1024;
/** A client that subscribes to a hundred resources causes one record. */
const WRITE_MS = 250;

/** What a client asked for in its session. */
export interface SessionState {
  readonly level?: string | undefined;
  /** Resources that it subscribed to, in its own names. */
  readonly subscriptions: readonly string[];
}

export interface SessionRecordsPorts {
  readonly records: () => Promise<Records>;
  readonly clock: Clock;
  readonly warn: Warn;
  readonly digest: Digest;
}

const nothing: SessionState = { subscriptions: [] };

export class SessionRecords {
  readonly #records: () => Promise<Records>;
  readonly #clock: Clock;
  readonly #warn: Warn;
  /** Ids are long, and a reader of the store must not learn them. */
  readonly #keyOf: Digest;
  /** Ends that are not stored yet, or could not be. */
  readonly #ending = new Set<string>();
  readonly #changed = new Map<Session, () => void>();
  #hasFailed = false;

  constructor({ records, clock, warn, digest }: SessionRecordsPorts) {
    this.#records = records;
    this.#clock = clock;
    this.#warn = warn;
    this.#keyOf = digest;
  }

  /** Resolves when the end is stored, or cannot be. */
  async ended({ id, sealedUntil }: Session): Promise<void> {
    if (sealedUntil !== undefined) await this.endedAt(id, sealedUntil);
  }

  /** The same for a session that is not known here. */
  async endedAt(id: string, sealedUntil: number): Promise<void> {
    const key = this.#keyOf(id);
    this.#ending.add(key);
    if (await this.#write(key, ENDED, sealedUntil)) this.#ending.delete(key);
  }

  /** The log level or the subscriptions of the session have changed. */
  changed(session: Session): void {
    if (session.sealedUntil === undefined || session.ended || this.#changed.has(session)) return;
    const stop = this.#clock.after(WRITE_MS, () => {
      this.#changed.delete(session);
      if (!session.ended) void this.#write(this.#keyOf(session.id), stateOf(session), session.sealedUntil);
    });
    this.#changed.set(session, stop);
  }

  /** Undefined for a session that has ended. Rejects with a StoreError where that cannot be known. */
  async read(id: string): Promise<SessionState | undefined> {
    const key = this.#keyOf(id);
    if (this.#ending.has(key)) return undefined;
    const text = await (await this.#records()).get(COLLECTION, key);
    if (text === ENDED || this.#ending.has(key)) return undefined;
    return text === undefined ? nothing : (JSON.parse(text) as SessionState);
  }

  /** Writes what waits to be written. */
  async flush(): Promise<void> {
    const waiting = [...this.#changed];
    this.#changed.clear();
    for (const [, stop] of waiting) stop();
    await Promise.all(
      waiting.map(([session]) => this.#write(this.#keyOf(session.id), stateOf(session), session.sealedUntil)),
    );
  }

  async #write(key: string, value: string, endsAt: number | undefined): Promise<boolean> {
    try {
      await (await this.#records()).put(COLLECTION, key, value, endsAt);
      return true;
    } catch (error) {
      if (!this.#hasFailed) this.#warn('the end or the state of a session cannot be stored', { why: String(error) });
      this.#hasFailed = true;
      return false;
    }
  }
}

/** Where it does not fit, the session cannot be continued elsewhere. */
function stateOf({ logLevel, subscriptions }: Session): string {
  const state: SessionState = { level: logLevel, subscriptions: subscriptions.addresses };
  const text = JSON.stringify(state);
  return Buffer.byteLength(text) > MOST_BYTES ? ENDED : text;
}
