/**
 * Whether a backend can be reached, judged by the last attempts, and the circuit breaker that protects callers from a
 * backend that cannot. Pure: times are handed in, and the owner probes the backend when `dueAt` says so
 * (health-monitor.ts).
 *
 *   closed      No failures. Calls pass, no probes.
 *   doubtful    Failures below the limit. Calls pass; a probe follows after the shortest pause.
 *   open        Down. Calls are refused at once; probes follow after the shortest pause, then after growing pauses.
 *   half-open   A probe is running. Calls are still refused, so that no caller pays for the probe.
 *
 *   from        reached    an attempt failed                   suspected   a probe failed
 *   closed      -          doubtful, or open at the limit      doubtful    open
 *   doubtful    closed     doubtful, or open at the limit      -           open
 *   open        closed     - (began before)                    -           open
 *   half-open   closed     - (began before)                    -           open
 *
 * A slow tool is at most a suspicion, and an error response counts as reached.
 */
import type { Limits } from '../config/limits.ts';
import { Failure, type FailureDetail, isAboutCredentials } from '../errors/failure.ts';
import type { Backoff } from './backoff.ts';
import type { HealthMonitor } from './health-monitor.ts';

export type HealthLimits = Pick<Limits, 'downAfter'>;

export type HealthPhase = 'closed' | 'doubtful' | 'open' | 'half-open';

/** Unavailable because of us: backoff, or we ended an idle process. Proves nothing about the backend. */
export class LocalRefusal extends Failure {
  constructor(detail: FailureDetail) {
    super('backend_unavailable', detail);
  }
}

/**
 * For requests that wait at a closed backend, or arrive afterwards. A gateway that stops answers its clients before it
 * closes its backends, so the backend was removed from the config, or replaced there.
 */
export function outOfService(): LocalRefusal {
  return new LocalRefusal({ message: 'The backend was removed from the config' });
}

/** For a request that an older config authorized. */
export function replaced(): LocalRefusal {
  return new LocalRefusal({ message: 'A reload has replaced the backend while the request waited: send it again' });
}

/** Refuses a call during backoff, and says when to retry. */
export function leftAlone(failure: Failure | undefined, retryAfterMs: number): LocalRefusal {
  return new LocalRefusal({
    ...(failure === undefined ? {} : { message: failure.message, cause: failure }),
    data: { retryAfterMs: Math.max(1, Math.ceil(retryAfterMs)) },
  });
}

/** Callers of a backend report here what became of each attempt. */
export type HealthReporter = Pick<HealthMonitor, 'phase' | 'refusal' | 'reached' | 'unreached' | 'suspected'>;

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

  /** Why the backend is down; undefined while it is not. */
  get down(): Failure | undefined {
    return this.#phase === 'open' || this.#phase === 'half-open' ? this.#failure : undefined;
  }

  /** When the next probe is due; undefined: none. */
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
    // Attempts that ran together fail together: that is one failure, not several in a row.
    if (this.#failedAt !== undefined && began < this.#failedAt) return;
    this.#failures++;
    this.#failedAt = now;
    if (this.#failures < this.#limits.downAfter) this.suspected(now);
    else {
      // The calls themselves may be the cause, so the first probe follows soon.
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

  /** A probe is running, no matter who started it. */
  looking(): void {
    this.#dueAt = undefined;
    if (this.#phase === 'open') this.#phase = 'half-open';
  }

  /** Resets the backoff even where the probe killed a process: some servers exit on requests before `initialize`. */
  found(): void {
    this.#backoff.worked();
    this.reached();
  }

  lookFailed(failure: Failure, now: number): void {
    if (!saysNothing(failure)) {
      this.#failure = failure;
      this.#phase = 'open';
    } else if (this.#phase === 'closed') return;
    else if (this.#phase === 'half-open') this.#phase = 'open';
    this.#backoff.failed(now);
    this.#dueAt = now + this.#backoff.leftMs(now);
  }
}

function saysNothing(failure: Failure): boolean {
  if (failure instanceof LocalRefusal || isAboutCredentials(failure)) return true;
  return failure.reason === 'backend_busy' || failure.reason === 'out_of_descriptors';
}

/** Any other failure proves that the backend is there. */
function isAway(failure: Failure): boolean {
  if (saysNothing(failure)) return false;
  return failure.reason === 'backend_unavailable' || failure.reason === 'backend_timeout';
}
