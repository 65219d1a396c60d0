/** All sessions of this process: registers, finds and expires them. Their number is limited over all processes. */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import type { SlotLimit } from '../exchange/slots.ts';
import type { Principal } from '../identity/principal.ts';
import type { Bus } from '../store/ports.ts';
import type { Session } from './session.ts';
import type { EndedIssue, RevokedIssues, SessionRecords } from './session-records.ts';

export interface SessionLimits {
  readonly sessionIdleMs: number;
  readonly sessionMaxMs: number;
}

/** For open sessions, and sessions being opened. */
export interface SessionSlots {
  readonly perPrincipal: SlotLimit;
  readonly total: SlotLimit;
}

export interface SessionsPorts {
  readonly slots: SessionSlots;
  readonly clock: Clock;
  readonly bus: Bus;
  readonly records: SessionRecords;
}

/** How often to check lifetimes; sessions live for minutes at least. */
const SWEEP_MS = 5_000;
const ENDED_TOPIC = 'session.ended';
const REVOKED_TOPIC = 'session.revoked';
const ALL = 'all';

interface EndedMessage {
  readonly id: string;
  /** Absent where the id is not sealed. */
  readonly issue?: EndedIssue | undefined;
}

const GOES_ON = 'The session goes on in another process';

/** Whether another process has taken a session over. Undefined where that cannot be known at the moment. */
export type IsElsewhere = (id: string) => Promise<boolean | undefined>;

export class Sessions {
  /** Where sessions may be taken over: that one is idle here does not say that it is idle. */
  isElsewhere: IsElsewhere | undefined;
  readonly #limits: SessionLimits;
  readonly #clock: Clock;
  readonly #bus: Bus;
  readonly #records: SessionRecords;
  readonly #slots: SessionSlots;
  readonly #sessions = new Map<string, Session>();
  /** No longer found, but not ended yet. */
  readonly #retiring = new Set<Session>();
  readonly #listening: readonly (() => void)[];
  #stopSweeping: () => void;

  constructor(limits: SessionLimits, { slots, clock, bus, records }: SessionsPorts) {
    this.#limits = limits;
    this.#slots = slots;
    this.#clock = clock;
    this.#bus = bus;
    this.#records = records;
    // A DELETE may reach a different replica than the one that holds the session's streams.
    this.#listening = [
      bus.subscribe(ENDED_TOPIC, (text) => this.#heardEnd(JSON.parse(text) as EndedMessage)),
      bus.subscribe(REVOKED_TOPIC, (text) => this.#heardRevocation(JSON.parse(text) as RevokedIssues)),
    ];
    this.#stopSweeping = this.#clock.after(SWEEP_MS, () => this.#sweep());
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Reserves the slot before a session is opened: opening takes time, so concurrent requests could otherwise all pass
   * the limit check. The caller must call `add` or `giveUp` in the end. Throws, or rejects with, a Failure at the
   * limit. Returns a promise only where other processes have to be asked.
   */
  reserve(principal: Principal): void | Promise<void> {
    const inTotal = this.#slots.total.take(ALL);
    const own = this.#slots.perPrincipal.take((principal.holder ?? principal).key);
    if (typeof inTotal === 'boolean' && typeof own === 'boolean') this.#reserved(principal, inTotal, own);
    else return Promise.all([inTotal, own]).then((both) => this.#reserved(principal, ...both));
  }

  /** The session was not opened after all, or is open no longer. */
  giveUp(principal: Principal): void {
    this.#slots.total.give(ALL);
    this.#slots.perPrincipal.give((principal.holder ?? principal).key);
  }

  add(session: Session): void {
    this.#sessions.set(session.id, session);
  }

  /** A session of a different principal or endpoint is not found, exactly like a session that never existed. */
  find(id: string, principal: Principal, endpoint: Endpoint): Session | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal.key !== principal.key) return undefined;
    if (session.endpoint.path !== endpoint.path || this.#expired(session)) return undefined;
    session.touch();
    return session;
  }

  /** For whichever principal and endpoint, expired or not. */
  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** Ends the session here. It has not ended: another process goes on with it. */
  release(id: string): void {
    this.#drop(id, new Failure('session_ended', { message: GOES_ON }), true);
  }

  /** Whether the session is here, for whichever principal and endpoint, expired or not. */
  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Ends the session here, and on the replica that holds its streams. Resolves when no process can continue it. */
  async end(session: Session, failure: Failure = new Failure('session_ended')): Promise<void> {
    const issue = issueOf(session);
    const isStored = issue && this.#records.ended(issue, session.hasStoredState);
    this.#drop(session.id, failure);
    this.#tell({ id: session.id, issue });
    await isStored;
  }

  /** The same for a session that is not open here. `hasState`: something else is stored of it. */
  async endElsewhere(issue: EndedIssue, hasState: boolean): Promise<void> {
    const isStored = this.#records.ended(issue, hasState);
    this.#tell({ id: issue.id, issue });
    await isStored;
  }

  /**
   * Ends the sessions that the principal has opened until now, in milliseconds since 1970, where they are not known
   * here. Rejects with a StoreError.
   */
  async revokeUnknown({ key }: Principal, now: number): Promise<void> {
    const revoked: RevokedIssues = { principal: key, issuedUntil: now, until: now + this.#limits.sessionMaxMs };
    await this.#records.revoke(revoked);
    void this.#bus.publish(REVOKED_TOPIC, JSON.stringify(revoked));
  }

  /** Hides the session from `find`. Its requests in flight may finish within `withinMs`; then it ends. */
  retire(session: Session, failure: Failure, withinMs: number): void {
    const issue = issueOf(session);
    if (issue !== undefined) void this.#records.ended(issue, session.hasStoredState);
    if (this.#sessions.delete(session.id)) this.giveUp(session.principal);
    this.#tell({ id: session.id, issue });
    if (session.ended || this.#retiring.has(session)) return;
    this.#retiring.add(session);
    const end = () => {
      stopWaiting();
      this.#retiring.delete(session);
      session.end(failure);
    };
    const stopWaiting = this.#clock.after(withinMs, end);
    session.inflight.onEmpty(end);
  }

  all(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  close(failure: Failure): void {
    for (const stop of this.#listening) stop();
    this.#stopSweeping();
    // Another process, or the next one, may continue them.
    for (const id of [...this.#sessions.keys()]) this.#drop(id, failure, true);
    for (const session of [...this.#retiring]) session.end(failure);
  }

  #tell(ended: EndedMessage): void {
    void this.#bus.publish(ENDED_TOPIC, JSON.stringify(ended));
  }

  #heardEnd({ id, issue }: EndedMessage): void {
    if (issue !== undefined) this.#records.heard(issue);
    this.#drop(id, new Failure('session_ended'));
  }

  #heardRevocation(revoked: RevokedIssues): void {
    this.#records.heardRevocation(revoked);
    for (const { id, principal, seal } of this.all()) {
      const isOf = principal.key === revoked.principal || principal.holder?.key === revoked.principal;
      const isMeant = isOf && (seal?.issuedAt ?? 0) <= revoked.issuedUntil;
      if (isMeant) this.#drop(id, new Failure('session_ended', { message: 'An operator has ended the session' }));
    }
  }

  #reserved(principal: Principal, inTotal: boolean, own: boolean): void {
    if (inTotal && own) return;
    if (inTotal) this.#slots.total.give(ALL);
    if (own) this.#slots.perPrincipal.give((principal.holder ?? principal).key);
    throw new Failure('too_many_sessions');
  }

  #expired(session: Session): boolean {
    const now = this.#clock.now();
    return now - session.idleSince() > this.#limits.sessionIdleMs || now - session.openedAt > this.#limits.sessionMaxMs;
  }

  #sweep(): void {
    const expired = [...this.#sessions.values()].filter((session) => this.#expired(session));
    if (this.isElsewhere === undefined) for (const session of expired) void this.end(session);
    else void this.#endOwn(expired, this.isElsewhere);
    this.#stopSweeping = this.#clock.after(SWEEP_MS, () => this.#sweep());
  }

  /** One after the other: thousands may have expired at a time. */
  async #endOwn(expired: readonly Session[], isElsewhere: IsElsewhere): Promise<void> {
    for (const session of expired) {
      const place = session.seal === undefined ? false : await isElsewhere(session.id);
      if (place === true) this.release(session.id);
      else if (place === false && this.#expired(session)) void this.end(session);
    }
  }

  #drop(id: string, failure: Failure, isContinued = false): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.giveUp(session.principal);
    session.end(failure, isContinued);
  }
}

function issueOf({ id, principal, seal }: Session): EndedIssue | undefined {
  return seal && { id, principal: principal.key, issuedAt: seal.issuedAt, until: seal.until };
}
