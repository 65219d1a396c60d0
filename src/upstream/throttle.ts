/**
 * Passes on the items of a backend's pipe or stream one by one. While the backend floods, the pipe is paused, and items
 * that are already read are held.
 */

import type { TimerClock } from './deadlines.ts';
import { type FloodBudget, FloodMeter, type Valve } from './flood-meter.ts';
import type { Reception } from './reception.ts';

export interface ThrottledPipe<T> {
  /** Processes an item, and reports by `count` what it was. */
  take(item: T): void;
  pause(): void;
  resume(): void;
  /** The pipe flooded for too long. */
  flooded(): void;
}

/** Reading this many lines that complete nothing takes as long as one message. */
const LINES_PER_MESSAGE = 16;
const none: readonly never[] = [];

export class Throttle<T> implements Valve {
  readonly #pipe: ThrottledPipe<T>;
  readonly #meter: FloodMeter;
  /** The items that were read when the pipe was paused, mostly the rest of one chunk. */
  #held: readonly T[] = none;
  #isEnded = false;

  constructor(budget: FloodBudget, clock: TimerClock, pipe: ThrottledPipe<T>) {
    this.#pipe = pipe;
    this.#meter = new FloodMeter(budget, clock, this);
  }

  get isPaused(): boolean {
    return this.#meter.isPaused;
  }

  get isFlooding(): boolean {
    return this.#meter.isFlooding;
  }

  /** The pipe flooded for too long: nothing more is passed on. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** A new pipe replaces the one that was ended. */
  restart(): void {
    this.#isEnded = false;
  }

  push(items: readonly T[]): void {
    if (this.#isEnded) return;
    this.#held = this.#held.length === 0 ? items : [...this.#held, ...items];
    this.#drain(false);
  }

  /** Counts a message. Responses are free: they were requested. */
  count(reception: Reception, bytes: number): void {
    if (this.#isEnded) return;
    if (reception === 'call' || reception === 'late') this.#meter.countCall(bytes);
    else if (reception !== 'answer') this.#meter.countUnsolicited(1, bytes);
  }

  /** Counts data that completes no message. */
  countNoise(items: number, bytes: number): void {
    if (this.#isEnded) return;
    if (items > 0 || bytes > 0) this.#meter.countUnsolicited(items, bytes);
  }

  /** Counts lines that complete nothing; they cost less than a message. */
  countLines(lines: number): void {
    this.countNoise(lines / LINES_PER_MESSAGE, 0);
  }

  /** Passes on what is held, even while paused: the pipe has ended, and responses may be among it. */
  release(): void {
    this.#drain(true);
  }

  /** Discards what is held. */
  drop(): void {
    this.#held = none;
  }

  /** Stops counting and pausing. */
  stop(): void {
    this.#meter.stop();
  }

  /** Called by the meter, like `resume` and `tryEnd`. */
  pause(): void {
    this.#pipe.pause();
  }

  resume(): void {
    this.#drain(false);
    if (!this.isPaused) this.#pipe.resume();
  }

  tryEnd(): boolean {
    this.#isEnded = true;
    this.drop();
    this.#pipe.flooded();
    return true;
  }

  #drain(evenPaused: boolean): void {
    const items = this.#held;
    let at = 0;
    // A changed array means that `take` has dropped the rest.
    while (at < items.length && this.#held === items && (evenPaused || !this.isPaused)) {
      this.#pipe.take(items[at++] as T);
    }
    if (this.#held === items) this.#held = at === items.length ? none : items.slice(at);
  }
}
