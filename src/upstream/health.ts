/**
 * Whether a backend can be reached, from what became of the last attempts, and the circuit that keeps callers away from one
 * that cannot. Pure: times are handed in, and whoever owns it looks at the backend when `dueAt` says so (keeper.ts).
 *
 *   closed      Nothing speaks against it. Callers go to it, and nobody looks.
 *   doubtful    Something does. Callers go to it still; after the shortest pause it is looked at.
 *   open        It is down. Callers are refused at once; it is looked at after the shortest pause, then after pauses that grow.
 *   half-open   It is being looked at. Callers are refused still: what a look costs is nobody's to pay.
 *
 *   from        reached    an attempt failed                   suspected   a look failed
 *   closed      -          doubtful, or open at the limit      doubtful    open
 *   doubtful    closed     doubtful, or open at the limit      -           open
 *   open        closed     - (began before)                    -           open
 *   half-open   closed     - (began before)                    -           open
 *
 * A tool that is slow, or that answers with an error, is an answer, or at most a suspicion.
 */
import { Failure, type FailureDetail, isAboutCredentials } from '../errors/failure.ts';
import type { Backoff } from './backoff.ts';

export interface HealthLimits {
  /** Attempts in a row that fail, until the backend is down. */
  readonly downAfter: number;
}

export type HealthPhase = 'closed' | 'doubtful' | 'open' | 'half-open';

/** Unavailable because of us: it is left alone, or we ended what was idle. Says nothing about the backend. */
export class LocalRefusal extends Failure {
  constructor(detail: FailureDetail) {
    super('backend_unavailable', detail);
  }
}

/**
 * For whoever still waits at a backend that was closed, or comes to it afterwards. A gateway that stops has answered its clients
 * before it closes its backends: the backend was taken out of the config, or is another one there.
 */
export function outOfService(): LocalRefusal {
  return new LocalRefusal({ message: 'The backend was taken out of service' });
}

/** For what was decided by the config before it. */
export function replaced(): LocalRefusal {
  return new LocalRefusal({ message: 'A reload has replaced the backend while the request waited: send it again' });
}

/** We refuse, and say when it is worth another try. */
export function leftAlone(failure: Failure | undefined, retryAfterMs: number): LocalRefusal {
  return new LocalRefusal({
    ...(failure === undefined ? {} : { message: failure.message, cause: failure }),
    data: { retryAfterMs: Math.max(1, Math.ceil(retryAfterMs)) },
  });
}

/** Whoever tries a backend says here what became of it. */
export interface HealthReporter {
  /** Why nothing is to be sent now. */
  refusal(): Failure | undefined;
  /** It answered, whatever it said. */
  reached(): void;
  /** It could not be reached. `began`: when that was tried, where several may be under way. */
  unreached(failure: Failure, began?: number): void;
  /** It took a request and said nothing at all for as long as it may. That can be the tool's own doing. */
  suspected(): void;
}

export class Health {
  readonly #limits: HealthLimits;
  readonly #backoff: Backoff;
  #phase: HealthPhase = 'closed';
  #failures = 0;
  #failedAt: number | undefined;
  #failure: Failure | undefined;
  #dueAt: number | undefined;

  constructor(limits: HealthLimits, backoff: Backoff) {
    this.#limits = limits;
    this.#backoff = backoff;
  }

  get phase(): HealthPhase {
    return this.#phase;
  }

  /** Why it is down; undefined while it is not. */
  get down(): Failure | undefined {
    return this.#phase === 'open' || this.#phase === 'half-open' ? this.#failure : undefined;
  }

  /** When it is to be looked at; undefined: not at all. */
  get dueAt(): number | undefined {
    return this.#dueAt;
  }

  refusal(now: number): LocalRefusal | undefined {
    const failure = this.down;
    if (failure === undefined) return undefined;
    return leftAlone(failure, (this.#dueAt ?? now + this.#backoff.leastMs) - now);
  }

  reached(): void {
    if (this.#phase === 'closed') return;
    if (this.down !== undefined) this.#backoff.worked();
    this.#phase = 'closed';
    this.#failures = 0;
    this.#failedAt = undefined;
    this.#failure = undefined;
    this.#dueAt = undefined;
  }

  unreached(failure: Failure, began: number, now: number): void {
    if (this.down !== undefined || !isAway(failure)) return;
    // What was under way together fails together: that is one failure, not many in a row.
    if (this.#failedAt !== undefined && began < this.#failedAt) return;
    this.#failures++;
    this.#failedAt = now;
    if (this.#failures < this.#limits.downAfter) this.suspected(now);
    else {
      // Several calls may have failed by their own doing: whether they did is found out soon.
      this.#failure = failure;
      this.#phase = 'open';
      this.#dueAt = now + this.#backoff.leastMs;
    }
  }

  suspected(now: number): void {
    if (this.#phase !== 'closed' && this.#phase !== 'doubtful') return;
    this.#phase = 'doubtful';
    this.#dueAt ??= now + Math.max(this.#backoff.leastMs, this.#backoff.leftMs(now));
  }

  /** It is being looked at, on whoever's account. */
  looking(): void {
    this.#dueAt = undefined;
    if (this.#phase === 'open') this.#phase = 'half-open';
  }

  /** Whatever died of being looked at, it is well: there are servers that take it amiss to be asked before `initialize`. */
  found(): void {
    this.#backoff.worked();
    this.reached();
  }

  lookFailed(failure: Failure, now: number): void {
    if (!saysNothing(failure)) this.#open(failure, now);
    else if (this.#phase !== 'closed') this.#later(now);
  }

  #open(failure: Failure, now: number): void {
    this.#failure = failure;
    this.#phase = 'open';
    this.#later(now);
  }

  #later(now: number): void {
    if (this.#phase === 'half-open') this.#phase = 'open';
    this.#backoff.failed(now);
    this.#dueAt = now + this.#backoff.leftMs(now);
  }
}

function saysNothing(failure: Failure): boolean {
  if (failure instanceof LocalRefusal || isAboutCredentials(failure)) return true;
  return failure.reason === 'backend_busy' || failure.reason === 'out_of_descriptors';
}

/** Anything else it has to say proves that it is there. */
function isAway(failure: Failure): boolean {
  if (saysNothing(failure)) return false;
  return failure.reason === 'backend_unavailable' || failure.reason === 'backend_timeout';
}
