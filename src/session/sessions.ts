/** All sessions of this process: registers, finds and expires them. */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import { Tally } from '../exchange/tally.ts';
import type { Principal } from '../identity/principal.ts';
import type { Bus } from '../store/ports.ts';
import type { Session } from './session.ts';
import type { SessionRecords } from './session-records.ts';

export interface SessionLimits {
  readonly sessionIdleMs: number;
  readonly sessionMaxMs: number;
  readonly sessionsPerPrincipal: number;
  readonly sessionsTotal: number;
}

/** How often to check lifetimes; sessions live for minutes at least. */
const SWEEP_MS = 5_000;
const ENDED_TOPIC = 'session.ended';

export class Sessions {
  readonly #limits: SessionLimits;
  readonly #clock: Clock;
  readonly #bus: Bus;
  readonly #records: SessionRecords;
  readonly #sessions = new Map<string, Session>();
  /** Open sessions, and sessions being opened. */
  readonly #perPrincipal = new Tally();
  /** No longer found, but not ended yet. */
  readonly #retiring = new Set<Session>();
  #opening = 0;
  readonly #stopListening: () => void;
  #stopSweeping: () => void;

  constructor(limits: SessionLimits, clock: Clock, bus: Bus, records: SessionRecords) {
    this.#limits = limits;
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
   * the limit check. The caller must call `add` or `giveUp` in the end. Throws at the limit.
   */
  reserve(principal: Principal): void {
    const mine = this.#perPrincipal.of(principal.key);
    const all = this.#sessions.size + this.#opening;
    if (all >= this.#limits.sessionsTotal || mine >= this.#limits.sessionsPerPrincipal) {
      throw new Failure('too_many_sessions');
    }
    this.#opening += 1;
    this.#perPrincipal.add(principal.key, 1);
  }

  /** The session was not opened after all. */
  giveUp(principal: Principal): void {
    this.#opening -= 1;
    this.#perPrincipal.add(principal.key, -1);
  }

  add(session: Session): void {
    this.#opening -= 1;
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
  release(id: string, failure: Failure): void {
    this.#drop(id, failure, true);
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
    if (this.#sessions.delete(session.id)) this.#perPrincipal.add(session.principal.key, -1);
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
    // Another process, or the next one, may continue them.
    for (const id of [...this.#sessions.keys()]) this.#drop(id, failure, true);
    for (const session of [...this.#retiring]) session.end(failure);
  }

  #expired(session: Session): boolean {
    const now = this.#clock.now();
    return now - session.idleSince() > this.#limits.sessionIdleMs || now - session.openedAt > this.#limits.sessionMaxMs;
  }

  #sweep(): void {
    for (const session of [...this.#sessions.values()]) if (this.#expired(session)) void this.end(session);
    this.#stopSweeping = this.#clock.after(SWEEP_MS, () => this.#sweep());
  }

  #drop(id: string, failure: Failure, isContinued = false): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.#perPrincipal.add(session.principal.key, -1);
    session.end(failure, isContinued);
  }
}
