/**
 * Waits that all have the same length. One coarse timer serves all of them: most requests are answered long before any
 * of their waits is over, and a timer each would cost more than the rest of their bookkeeping.
 */
import type { Clock } from '../exchange/clock.ts';

export type SweepClock = Pick<Clock, 'after'>;

/** Something that waits in a sweep. */
export interface Sweepable {
  /** Belongs to the sweep. One object can wait in one sweep at a time. */
  due: number;
  /** The wait is over. Never called after `remove`. */
  expire(): void;
}

/** A wait lasts at least its time, and at most an eighth longer. */
const STEPS = 8;

export class Sweep {
  readonly #stepMs: number;
  readonly #clock: SweepClock;
  /** In the order in which they are due, since every wait is as long as the others. */
  readonly #waiting = new Set<Sweepable>();
  #now = 0;
  #stop: (() => void) | undefined;

  constructor(ms: number, clock: SweepClock) {
    this.#stepMs = Math.max(1, Math.ceil(ms / STEPS));
    this.#clock = clock;
  }

  /** Begins a wait, or begins it anew. */
  add(waiting: Sweepable): void {
    this.#waiting.delete(waiting);
    waiting.due = this.#now + STEPS + 1;
    this.#waiting.add(waiting);
    if (this.#stop === undefined) this.#arm();
  }

  remove(waiting: Sweepable): void {
    this.#waiting.delete(waiting);
  }

  /** The timer runs until a step finds nothing that waits: waits come and go faster than timers are made. */
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
