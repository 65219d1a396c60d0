/**
 * Timeouts that all have the same length. One coarse timer serves all of them: most requests are answered long before
 * any of their timeouts, and a timer each would cost more than the rest of their bookkeeping.
 */
import type { Clock } from '../exchange/clock.ts';

export type SweepClock = Pick<Clock, 'after'>;

/** An object with a timeout. */
export interface Sweepable {
  /** Managed by the sweep. An object can be in one sweep at a time. */
  due: number;
  /** The time is over. Never called after `remove`. */
  expire(): void;
}

/** A timeout fires at its time at the earliest, and at most an eighth later. */
const STEPS = 8;

export class Sweep {
  readonly #stepMs: number;
  readonly #clock: SweepClock;
  /** In the order in which they are due, since all timeouts have the same length. */
  readonly #waiting = new Set<Sweepable>();
  #now = 0;
  #stop: (() => void) | undefined;

  constructor(ms: number, clock: SweepClock) {
    this.#stepMs = Math.max(1, Math.ceil(ms / STEPS));
    this.#clock = clock;
  }

  /** Starts or restarts a timeout. */
  add(waiting: Sweepable): void {
    this.#waiting.delete(waiting);
    waiting.due = this.#now + STEPS + 1;
    this.#waiting.add(waiting);
    if (this.#stop === undefined) this.#arm();
  }

  remove(waiting: Sweepable): void {
    this.#waiting.delete(waiting);
  }

  /** The timer runs until a step finds nothing waiting: timeouts come and go faster than timers can be created. */
  #arm(): void {
    this.#stop = this.#clock.after(this.#stepMs, () => {
      this.#stop = undefined;
      this.#step();
      if (this.#waiting.size > 0 && this.#stop === undefined) this.#arm();
    });
  }

  #step(): void {
    this.#now += 1;
    for (const waiting of this.#waiting) {
      if (waiting.due > this.#now) return;
      this.#waiting.delete(waiting);
      waiting.expire();
    }
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#waiting.clear();
  }
}
