/** All sessions of this process: made, found, and ended when their time is over. */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Principal } from '../identity/principal.ts';
import type { Bus } from '../store/ports.ts';
import type { Session } from './session.ts';

export interface SessionLimits {
  readonly sessionIdleMs: number;
  readonly sessionMaxMs: number;
  readonly sessionsPerPrincipal: number;
  readonly sessionsTotal: number;
}

/** How often lifetimes are looked at; sessions live for minutes at least. */
const SWEEP_MS = 5_000;
const ENDED_TOPIC = 'session.ended';

export class Sessions {
  readonly #limits: SessionLimits;
  readonly #clock: Clock;
  readonly #bus: Bus;
  readonly #sessions = new Map<string, Session>();
  /** Sessions, and those that are being opened. */
  readonly #perPrincipal = new Map<string, number>();
  /** Found by nobody any more, and not over yet. */
  readonly #retiring = new Set<Session>();
  #opening = 0;
  readonly #stopListening: () => void;
  #stopSweeping: () => void;

  constructor(limits: SessionLimits, clock: Clock, bus: Bus) {
    this.#limits = limits;
    this.#clock = clock;
    this.#bus = bus;
    // A DELETE may reach another replica than the one that holds the session's streams.
    this.#stopListening = bus.subscribe(ENDED_TOPIC, (id) => this.#drop(id, new Failure('session_ended')));
    this.#stopSweeping = this.#clock.after(SWEEP_MS, () => this.#sweep());
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Keeps room for a session that is about to be opened: opening one takes time, and many may come at once. Whoever has the
   * room calls `add` or `giveUp` in the end. Throws where there is none.
   */
  reserve(principal: Principal): void {
    const mine = this.#perPrincipal.get(principal.key) ?? 0;
    const all = this.#sessions.size + this.#opening;
    if (all >= this.#limits.sessionsTotal || mine >= this.#limits.sessionsPerPrincipal) {
      throw new Failure('too_many_sessions');
    }
    this.#opening += 1;
    this.#perPrincipal.set(principal.key, mine + 1);
  }

  /** The session was not opened after all. */
  giveUp(principal: Principal): void {
    this.#opening -= 1;
    this.#countOut(principal);
  }

  add(session: Session): void {
    this.#opening -= 1;
    this.#sessions.set(session.id, session);
  }

  /** A session of another principal, or of another endpoint, is not found: nothing tells it from one that never was. */
  find(id: string, principal: Principal, endpoint: Endpoint): Session | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal.key !== principal.key) return undefined;
    if (session.endpoint.path !== endpoint.path || this.#expired(session)) return undefined;
    session.touch();
    return session;
  }

  /** Ends it here, and on whichever replica has its other half. */
  end(session: Session, failure: Failure = new Failure('session_ended')): void {
    this.#drop(session.id, failure);
    void this.#bus.publish(ENDED_TOPIC, session.id);
  }

  /** From now on nobody finds it. What runs in it may finish within the time; then it ends. */
  retire(session: Session, failure: Failure, withinMs: number): void {
    if (this.#sessions.delete(session.id)) this.#countOut(session.principal);
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

  #expired(session: Session): boolean {
    const now = this.#clock.now();
    return now - session.idleSince() > this.#limits.sessionIdleMs || now - session.openedAt > this.#limits.sessionMaxMs;
  }

  #sweep(): void {
    for (const session of [...this.#sessions.values()]) if (this.#expired(session)) this.end(session);
    this.#stopSweeping = this.#clock.after(SWEEP_MS, () => this.#sweep());
  }

  #drop(id: string, failure: Failure): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.#countOut(session.principal);
    session.end(failure);
  }

  #countOut({ key }: Principal): void {
    const left = (this.#perPrincipal.get(key) ?? 1) - 1;
    if (left === 0) this.#perPrincipal.delete(key);
    else this.#perPrincipal.set(key, left);
  }
}
