/**
 * Tracks a backend's health: collects the results of attempts, and probes the backend in the background while it is
 * unwell.
 */
import type { Failure } from '../errors/failure.ts';
import type { Backoff } from './backoff.ts';
import type { TimerClock } from './deadlines.ts';
import { Health, type HealthLimits, type HealthPhase } from './health.ts';

export interface HealthMonitorOptions {
  readonly limits: HealthLimits;
  readonly backoff: Backoff;
  readonly clock: TimerClock;
  /** Probes the backend and reports by `found` or `lookFailed`. Joins a probe that is running; never throws. */
  look(): void;
  /** The backend went down, or is down for a different reason. Undefined: it is no longer down. */
  turned(down: Failure | undefined): void;
}

export class HealthMonitor {
  /**
   * While it is `closed`, `refusal` returns nothing and `reached` does nothing: callers skip both. A field, because it
   * is read several times for every call.
   */
  phase: HealthPhase = 'closed';
  readonly #options: HealthMonitorOptions;
  readonly #health: Health;
  #told: Failure | undefined;
  #armedFor: number | undefined;
  #stopTimer: (() => void) | undefined;
  #closed = false;

  constructor(options: HealthMonitorOptions) {
    this.#options = options;
    this.#health = new Health(options.limits, options.backoff);
  }

  get isDown(): boolean {
    return this.#health.down !== undefined;
  }

  /** Why nothing may be sent now. */
  refusal(): Failure | undefined {
    return this.#health.refusal(this.#options.clock.now());
  }

  /** The backend answered, with anything. */
  reached(): void {
    if (this.phase === 'closed') return;
    this.#health.reached();
    this.#follow();
  }

  /** The backend could not be reached. `began`: when the attempt started, where several may run at once. */
  unreached(failure: Failure, began?: number): void {
    const now = this.#options.clock.now();
    this.#health.unreached(failure, began ?? now, now);
    this.#follow();
  }

  /** The backend took a request and sent nothing until the time limit. The tool alone may be the cause. */
  suspected(): void {
    this.#health.suspected(this.#options.clock.now());
    this.#follow();
  }

  looking(): void {
    this.#health.looking();
    this.#follow();
  }

  found(): void {
    this.#health.found();
    this.#follow();
  }

  lookFailed(failure: Failure): void {
    this.#health.lookFailed(failure, this.#options.clock.now());
    this.#follow();
  }

  close(): void {
    this.#closed = true;
    this.#disarm();
  }

  #follow(): void {
    this.phase = this.#health.phase;
    if (this.#closed) return;
    this.#arm(this.#health.dueAt);
    const { down } = this.#health;
    if (down === this.#told) return;
    this.#told = down;
    this.#options.turned(down);
  }

  #arm(dueAt: number | undefined): void {
    if (dueAt === this.#armedFor) return;
    this.#disarm();
    if (dueAt === undefined) return;
    const { clock } = this.#options;
    this.#armedFor = dueAt;
    this.#stopTimer = clock.after(Math.max(0, dueAt - clock.now()), () => {
      this.#armedFor = undefined;
      this.#stopTimer = undefined;
      this.looking();
      this.#options.look();
    });
  }

  #disarm(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#armedFor = undefined;
  }
}
