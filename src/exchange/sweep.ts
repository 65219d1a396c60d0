/**
 * Timeouts that all have the same length. One coarse timer serves all of them: most requests are answered long before
 * any of their timeouts, and a timer each would cost more than the rest of their bookkeeping.
 */
import type { Clock } from './clock.ts';
import { LinkedList, type ListMember } from './linked-list.ts';

export type SweepClock = Pick<Clock, 'after'>;

/** An object with a timeout. It can be in one sweep at a time. */
export interface Sweepable extends ListMember<Sweepable> {
  /** Managed by the sweep. */
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
  readonly #waiting = new LinkedList<Sweepable>();
  #now = 0;
  #stop: (() => void) | undefined;

  constructor(ms: number, clock: SweepClock) {
    this.#stepMs = Math.max(1, Math.ceil(ms / STEPS));
    this.#clock = clock;
  }

  /** How many timeouts are running. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Starts or restarts a timeout. */
  add(waiting: Sweepable): void {
    waiting.due = this.#now + STEPS + 1;
    this.#waiting.add(waiting);
    if (this.#stop === undefined) this.#arm();
  }

  remove(waiting: Sweepable): void {
    this.#waiting.remove(waiting);
  }

  /** The timer runs until a step finds nothing waiting: timeouts come and go faster than timers can be created. */
  #arm(): void {
    this.#stop = this.#clock.after(this.#stepMs, () => {
      this.#stop = undefined;
      this.#step();
      if (this.#waiting.first !== undefined && this.#stop === undefined) this.#arm();
    });
  }

  #step(): void {
    this.#now += 1;
    for (let { first } = this.#waiting; first !== undefined && first.due <= this.#now; first = this.#waiting.first) {
      this.#waiting.remove(first);
      first.expire();
    }
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#waiting.clear();
  }
}
