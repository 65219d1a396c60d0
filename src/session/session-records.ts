/**
 * What is stored of sessions whose ids are sealed: that they have ended, so that none lives again, and what their
 * clients asked for after `initialize`. A session about which nothing is stored has not ended, and asked for nothing.
 */
import type { Digest } from '../catalog/merged-list.ts';
import type { Records } from '../store/ports.ts';
import { EndRecords, type EndRecordsPorts } from './end-records.ts';
import type { EndedSession, SessionName } from './ended-sessions.ts';
import type { Session } from './session.ts';

const STATE = 'session';
/** In the place of a state that is too large to be stored. */
const UNKEPT = 'unkept';
/** Of one record: half of what a store takes. */
const MOST_BYTES = 128 * 1024;
/** A client that subscribes to a hundred resources causes one record. */
const WRITE_MS = 250;
/** The time of day may be set back by this much: an end is kept for longer than its id can be opened. */
const SET_BACK_MS = 3600_000;
/** Characters of a hash, 128 bits: many of them are kept in memory. */
const KEY_CHARACTERS = 32;

/** Which session, and when it was opened, in milliseconds since 1970. */
export interface SessionIssue {
  readonly id: string;
  /** The key of the principal. */
  readonly principal: string;
  readonly issuedAt: number;
}

export interface EndedIssue extends SessionIssue {
  /** Until when the id opens. */
  readonly until: number;
}

/** All that the principal has opened until then has ended. */
export interface RevokedIssues {
  readonly principal: string;
  readonly issuedUntil: number;
  /** Until when the id of any such session opens. */
  readonly until: number;
}

/** What a client asked for in its session. */
interface SessionState {
  readonly level?: string | undefined;
  /** Resources that it subscribed to, in its own names. */
  readonly subscriptions: readonly string[];
}

export interface StoredSessionState extends SessionState {
  readonly isStored: boolean;
}

export interface SessionRecordsPorts extends EndRecordsPorts {
  readonly digest: Digest;
}

const nothing: StoredSessionState = { subscriptions: [], isStored: false };

export class SessionRecords {
  readonly #ports: SessionRecordsPorts;
  readonly #ends: EndRecords;
  readonly #changed = new Map<Session, () => void>();
  #hasFailed = false;

  constructor(ports: SessionRecordsPorts) {
    this.#ports = ports;
    this.#ends = new EndRecords(ports);
  }

  /** Reads which sessions have ended. Resolves when that is known, or cannot be read. */
  readEnds(): Promise<void> {
    return this.#ends.read();
  }

  /** `hasState`: something else is stored of the session. Resolves when the end is stored, or cannot be. */
  async ended(issue: EndedIssue, hasState: boolean): Promise<void> {
    await this.#ends.ended(this.#endOf(issue));
    if (hasState) await this.#write((records) => records.delete(STATE, this.#keyOf(issue.id)));
  }

  /** Ends sessions where they are not known. Rejects with a StoreError. */
  async revoke(revoked: RevokedIssues): Promise<void> {
    await this.#ends.revoke(this.#revocationOf(revoked));
  }

  /** Another process has ended it. */
  heard(issue: EndedIssue): void {
    this.#ends.heard(this.#endOf(issue));
  }

  heardRevocation(revoked: RevokedIssues): void {
    this.#ends.heardRevocation(this.#revocationOf(revoked));
  }

  /** The log level or the subscriptions of the session have changed. */
  changed(session: Session): void {
    if (session.seal === undefined || this.#changed.has(session)) return;
    const stop = this.#ports.clock.after(WRITE_MS, () => {
      this.#changed.delete(session);
      void this.#storeState(session);
    });
    this.#changed.set(session, stop);
  }

  /** Undefined for a session that has ended. Rejects with a StoreError where that cannot be known. */
  async read(issue: SessionIssue): Promise<StoredSessionState | undefined> {
    const records = await this.#ports.records();
    const text = await records.get(STATE, this.#keyOf(issue.id));
    if (text === UNKEPT || (await this.#ends.hasEnded(this.#nameOf(issue)))) return undefined;
    return text === undefined ? nothing : { ...(JSON.parse(text) as SessionState), isStored: true };
  }

  /** Writes what waits to be written. */
  async flush(): Promise<void> {
    const waiting = [...this.#changed];
    this.#changed.clear();
    for (const [, stop] of waiting) stop();
    await Promise.all([...waiting.map(([session]) => this.#storeState(session)), this.#ends.flush()]);
  }

  async #storeState(session: Session): Promise<void> {
    if (session.ended) return;
    session.hasStoredState = true;
    await this.#write((records) => records.put(STATE, this.#keyOf(session.id), stateOf(session), session.seal?.until));
  }

  async #write(write: (records: Records) => Promise<void>): Promise<void> {
    try {
      await write(await this.#ports.records());
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#ports.warn('the state of a session cannot be stored', { why: String(error) });
      this.#hasFailed = true;
    }
  }

  #nameOf({ id, principal, issuedAt }: SessionIssue): SessionName {
    return { session: this.#keyOf(id), principal: this.#keyOf(principal), issuedAt };
  }

  #endOf(issue: EndedIssue): EndedSession {
    return { ...this.#nameOf(issue), until: issue.until + SET_BACK_MS };
  }

  #revocationOf({ principal, issuedUntil, until }: RevokedIssues) {
    return { principal: this.#keyOf(principal), issuedUntil, until: until + SET_BACK_MS };
  }

  /** Ids are long, and a reader of the store must not learn them. */
  #keyOf(text: string): string {
    return this.#ports.digest(text).slice(0, KEY_CHARACTERS);
  }
}

/** Where it does not fit, the session cannot be continued elsewhere. */
function stateOf({ logLevel, subscriptions }: Session): string {
  const state: SessionState = { level: logLevel, subscriptions: subscriptions.addresses };
  const text = JSON.stringify(state);
  return Buffer.byteLength(text) > MOST_BYTES ? UNKEPT : text;
}
