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
/** By principal: the time of issue of the last session that an operator has ended. */
const REVOKED = 'session-revoked';
/** Of one record: half of what a store takes. */
const MOST_BYTES = 128 * 1024;
/** A client that subscribes to a hundred resources causes one record. */
const WRITE_MS = 250;
/** An end that could not be stored is stored later: a disk that was full may have room again. */
const RETRY_MS = 5_000;
/** Ends that could not be stored: some 10 MB. With more of them, no session is continued here any more. */
const MOST_UNSTORED = 100_000;
/** The time of day may be set back by this much: an end is kept for longer than its id can be opened. */
const SET_BACK_MS = 3600_000;

/** Whose session it is, and when it was opened, in milliseconds since 1970. */
export interface SessionIssue {
  /** The key of the principal. */
  readonly principal: string;
  readonly issuedAt: number;
}

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
  /** Ends that are not stored yet, or could not be, each with the end of its record. */
  readonly #ending = new Map<string, number>();
  readonly #changed = new Map<Session, () => void>();
  /** What is stored of these is their end: a later state must not replace it. */
  readonly #over = new WeakSet<Session>();
  #stopRetrying: (() => void) | undefined;
  #hasFailed = false;
  /** Ends were forgotten, because there were too many of them. */
  #hasForgotten = false;

  constructor({ records, clock, warn, digest }: SessionRecordsPorts) {
    this.#records = records;
    this.#clock = clock;
    this.#warn = warn;
    this.#keyOf = digest;
  }

  /** Resolves when the end is stored, or cannot be. */
  async ended(session: Session): Promise<void> {
    this.#over.add(session);
    if (session.sealedUntil !== undefined) await this.endedAt(session.id, session.sealedUntil);
  }

  /** The same for a session that is not known here. */
  async endedAt(id: string, sealedUntil: number): Promise<void> {
    const key = this.#keyOf(id);
    this.#ending.set(key, sealedUntil + SET_BACK_MS);
    await this.#storeEnd(key);
    if (this.#ending.has(key)) this.#retryLater();
  }

  /**
   * Ends the sessions that the principal has opened until now, in milliseconds since 1970, where they are not known. No
   * such session lives longer than `sealedUntil`. Rejects with a StoreError.
   */
  async revoke(principal: string, now: number, sealedUntil: number): Promise<void> {
    const records = await this.#records();
    await records.put(REVOKED, this.#keyOf(principal), String(now), sealedUntil + SET_BACK_MS);
  }

  /** The log level or the subscriptions of the session have changed. */
  changed(session: Session): void {
    if (session.sealedUntil === undefined || this.#changed.has(session)) return;
    const stop = this.#clock.after(WRITE_MS, () => {
      this.#changed.delete(session);
      void this.#storeState(session);
    });
    this.#changed.set(session, stop);
  }

  /** Undefined for a session that has ended. Rejects with a StoreError where that cannot be known. */
  async read(id: string, { principal, issuedAt }: SessionIssue): Promise<SessionState | undefined> {
    const key = this.#keyOf(id);
    if (this.#ending.has(key) || this.#hasForgotten) return undefined;
    const records = await this.#records();
    const revokedAt = await records.get(REVOKED, this.#keyOf(principal));
    if (revokedAt !== undefined && issuedAt <= Number(revokedAt)) return undefined;
    const text = await records.get(COLLECTION, key);
    if (text === ENDED || this.#ending.has(key)) return undefined;
    return text === undefined ? nothing : (JSON.parse(text) as SessionState);
  }

  /** Writes what waits to be written. */
  async flush(): Promise<void> {
    const waiting = [...this.#changed];
    this.#changed.clear();
    for (const [, stop] of waiting) stop();
    this.#stopRetrying?.();
    await Promise.all([...waiting.map(([session]) => this.#storeState(session)), this.#storeEnds()]);
  }

  async #storeState(session: Session): Promise<void> {
    if (session.ended || this.#over.has(session)) return;
    await this.#write(this.#keyOf(session.id), stateOf(session), session.sealedUntil);
  }

  async #storeEnd(key: string): Promise<void> {
    if (await this.#write(key, ENDED, this.#ending.get(key))) this.#ending.delete(key);
  }

  async #storeEnds(): Promise<void> {
    await Promise.all([...this.#ending.keys()].map((key) => this.#storeEnd(key)));
  }

  #retryLater(): void {
    if (this.#ending.size > MOST_UNSTORED) {
      this.#ending.clear();
      this.#hasForgotten = true;
    }
    this.#stopRetrying ??= this.#clock.after(RETRY_MS, () => void this.#retry());
  }

  async #retry(): Promise<void> {
    this.#stopRetrying = undefined;
    await this.#storeEnds();
    if (this.#ending.size > 0) this.#retryLater();
  }

  async #write(key: string, value: string, endsAt: number | undefined): Promise<boolean> {
    try {
      await (await this.#records()).put(COLLECTION, key, value, endsAt);
      this.#hasFailed = false;
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
