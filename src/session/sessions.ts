/** All sessions of this process: registers, finds and expires them. Their number is limited over all processes. */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import type { SlotLimit } from '../exchange/slots.ts';
import type { Principal } from '../identity/principal.ts';
import type { Bus } from '../store/ports.ts';
import type { Session } from './session.ts';
import type { SessionRecords } from './session-records.ts';

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
const ALL = 'all';

export class Sessions {
  readonly #limits: SessionLimits;
  readonly #clock: Clock;
  readonly #bus: Bus;
  readonly #records: SessionRecords;
  readonly #slots: SessionSlots;
  readonly #sessions = new Map<string, Session>();
  /** No longer found, but not ended yet. */
  readonly #retiring = new Set<Session>();
  readonly #stopListening: () => void;
  #stopSweeping: () => void;

  constructor(limits: SessionLimits, { slots, clock, bus, records }: SessionsPorts) {
    this.#limits = limits;
    this.#slots = slots;
    this.#clock = clock;
    this.#bus = bus;
    this.#records = records;
    // A DELETE may reach a different replica than the one that holds the session's streams.
    this.#stopListening = bus.subscribe(ENDED_TOPIC, (id) => this.#drop(id, new Failure('session_ended')));
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
    const own = this.#slots.perPrincipal.take(principal.key);
    if (typeof inTotal === 'boolean' && typeof own === 'boolean') this.#reserved(principal, inTotal, own);
    else return Promise.all([inTotal, own]).then((both) => this.#reserved(principal, ...both));
  }

  /** The session was not opened after all, or is open no longer. */
  giveUp({ key }: Principal): void {
    this.#slots.total.give(ALL);
    this.#slots.perPrincipal.give(key);
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

  /** Whether the session is here, for whichever principal and endpoint, expired or not. */
  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Ends the session here, and on the replica that holds its streams. Resolves when no process can continue it. */
  async end(session: Session, failure: Failure = new Failure('session_ended')): Promise<void> {
    const isStored = this.#records.ended(session);
    this.#drop(session.id, failure);
    void this.#bus.publish(ENDED_TOPIC, session.id);
    await isStored;
  }

  /**
   * Ends the sessions that the principal has opened until now, in milliseconds since 1970, where they are not known
   * here. Rejects with a StoreError.
   */
  async revokeUnknown({ key }: Principal, now: number): Promise<void> {
    await this.#records.revoke(key, now, now + this.#limits.sessionMaxMs);
  }

  /** Hides the session from `find`. Its requests in flight may finish within `withinMs`; then it ends. */
  retire(session: Session, failure: Failure, withinMs: number): void {
    void this.#records.ended(session);
    if (this.#sessions.delete(session.id)) this.giveUp(session.principal);
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
    this.#stopListening();
    this.#stopSweeping();
    for (const id of [...this.#sessions.keys()]) this.#drop(id, failure);
    for (const session of [...this.#retiring]) session.end(failure);
  }

  #reserved({ key }: Principal, inTotal: boolean, own: boolean): void {
    if (inTotal && own) return;
    if (inTotal) this.#slots.total.give(ALL);
    if (own) this.#slots.perPrincipal.give(key);
    throw new Failure('too_many_sessions');
  }

  #expired(session: Session): boolean {
    const now = this.#clock.now();
    return now - session.idleSince() > this.#limits.sessionIdleMs || now - session.openedAt > this.#limits.sessionMaxMs;
  }

  #sweep(): void {
    for (const session of [...this.#sessions.values()]) if (this.#expired(session)) void this.end(session);
    this.#stopSweeping = this.#clock.after(SWEEP_MS, () => this.#sweep());
  }

  #drop(id: string, failure: Failure): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.giveUp(session.principal);
    session.end(failure);
  }
}
