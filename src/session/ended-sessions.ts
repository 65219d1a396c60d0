/**
 * The ended sessions that this process knows of: those that it ended, heard of, or read in the store. It refuses them
 * whatever the store says later, because records can be deleted or replaced by older ones. Bounded: where there are too
 * many, all older sessions of the principal with the most of them count as ended, so that who opens and ends sessions
 * in a loop harms themselves.
 */

/** Which session: its id and the key of its principal, both hashed. Times are milliseconds since 1970. */
export interface SessionName {
  readonly session: string;
  readonly principal: string;
  readonly issuedAt: number;
}

export interface EndedSession extends SessionName {
  /** Until when it must be remembered. */
  readonly until: number;
}

/** All sessions of the principal that were issued until then have ended. */
export interface Revocation {
  readonly principal: string;
  readonly issuedUntil: number;
  readonly until: number;
}

export interface EndedSessionLimits {
  readonly endedSessions: number;
  readonly endedSessionsPerPrincipal: number;
}

/** In the place of a principal: the sessions of all. */
export const EVERYONE = 'everyone';

/** Looking at all entries for expired ones costs little for each of so many. */
const SWEEP_EVERY = 1_000;

interface PrincipalEnds {
  issuedUntil: number;
  until: number;
  readonly ended: Map<string, EndedSession>;
}

export class EndedSessions {
  readonly #limits: EndedSessionLimits;
  readonly #now: () => number;
  readonly #principals = new Map<string, PrincipalEnds>();
  #size = 0;
  #added = 0;

  /** `now`: the time of day. */
  constructor(limits: EndedSessionLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** How many are known by themselves. */
  get size(): number {
    return this.#size;
  }

  has({ session, principal, issuedAt }: SessionName): boolean {
    return this.#isRevoked(principal, issuedAt) || this.#principals.get(principal)?.ended.has(session) === true;
  }

  add(end: EndedSession): void {
    if (this.has(end)) return;
    this.#endsOf(end.principal).ended.set(end.session, end);
    this.#size += 1;
    this.#added += 1;
    if (this.#added % SWEEP_EVERY === 0) this.#sweep();
  }

  /** Returns the ended sessions that need not be known by themselves any more. */
  revoke({ principal, issuedUntil, until }: Revocation): readonly EndedSession[] {
    const of = this.#endsOf(principal);
    of.issuedUntil = Math.max(of.issuedUntil, issuedUntil);
    of.until = Math.max(of.until, until);
    const all = principal === EVERYONE ? this.#principals : [[principal, of] as const];
    const forgotten: EndedSession[] = [];
    for (const [name, { ended, issuedUntil: own }] of all) {
      for (const end of this.#forget(ended, ({ issuedAt }) => issuedAt <= issuedUntil)) forgotten.push(end);
      if (ended.size === 0 && name !== principal && own <= issuedUntil) this.#principals.delete(name);
    }
    return forgotten;
  }

  /** What to revoke, because too many are known since one of this principal was added. Undefined: not too many. */
  excess(principal: string): Revocation | undefined {
    const { endedSessions, endedSessionsPerPrincipal } = this.#limits;
    if (this.#principals.size > endedSessions) return this.#all();
    if (this.#size > endedSessions) return this.#olderHalf(this.#largest());
    return this.#endsOf(principal).ended.size > endedSessionsPerPrincipal ? this.#olderHalf(principal) : undefined;
  }

  #isRevoked(principal: string, issuedAt: number): boolean {
    const isOver = (of: string) => issuedAt <= (this.#principals.get(of)?.issuedUntil ?? 0);
    return isOver(principal) || isOver(EVERYONE);
  }

  #endsOf(principal: string): PrincipalEnds {
    const known = this.#principals.get(principal);
    if (known !== undefined) return known;
    const fresh: PrincipalEnds = { issuedUntil: 0, until: 0, ended: new Map() };
    this.#principals.set(principal, fresh);
    return fresh;
  }

  #largest(): string {
    let [largest, most] = ['', -1];
    for (const [principal, { ended }] of this.#principals)
      if (ended.size > most) [largest, most] = [principal, ended.size];
    return largest;
  }

  /** The newer ones stay: sessions that were issued as late may be continued. */
  #olderHalf(principal: string): Revocation {
    const { ended } = this.#endsOf(principal);
    const oldest = [...ended.values()].sort((one, other) => one.issuedAt - other.issuedAt);
    const half = oldest.slice(0, Math.ceil(oldest.length / 2));
    return { principal, issuedUntil: half.at(-1)?.issuedAt ?? 0, until: latest(half) };
  }

  #all(): Revocation {
    let [issuedUntil, until] = [this.#now(), 0];
    for (const of of this.#principals.values()) {
      for (const end of of.ended.values()) issuedUntil = Math.max(issuedUntil, end.issuedAt);
      issuedUntil = Math.max(issuedUntil, of.issuedUntil);
      until = Math.max(until, of.until, latest(of.ended.values()));
    }
    return { principal: EVERYONE, issuedUntil, until };
  }

  #sweep(): void {
    const now = this.#now();
    for (const [principal, { ended, until }] of this.#principals) {
      this.#forget(ended, (end) => end.until <= now);
      if (ended.size === 0 && until <= now) this.#principals.delete(principal);
    }
  }

  #forget(ended: Map<string, EndedSession>, isMeant: (end: EndedSession) => boolean): readonly EndedSession[] {
    const meant = [...ended.values()].filter(isMeant);
    for (const { session } of meant) ended.delete(session);
    this.#size -= meant.length;
    return meant;
  }
}

function latest(ended: Iterable<EndedSession>): number {
  let last = 0;
  for (const { until } of ended) last = Math.max(last, until);
  return last;
}
