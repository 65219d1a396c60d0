/**
 * Hands on what a pipe or stream of a backend brings, item by item. While the backend floods, the pipe is paused, and
 * items that were read already are held.
 */
import type { Reception } from './channel.ts';
import { type FloodBudget, type FloodClock, FloodMeter } from './flood-meter.ts';

export interface ThrottledPipe<T> {
  /** Tells the throttle what each item was. */
  take(item: T): void;
  pause(): void;
  resume(): void;
  /** It flooded for too long. False: it is to go on. */
  flooded(): boolean;
}

export class Throttle<T> {
  readonly #pipe: ThrottledPipe<T>;
  readonly #meter: FloodMeter;
  /** Of one chunk, mostly: the rest that was read when the pipe was paused. */
  #held: readonly T[] = [];

  constructor(budget: FloodBudget, clock: FloodClock, pipe: ThrottledPipe<T>) {
    this.#pipe = pipe;
    this.#meter = new FloodMeter(budget, clock, {
      pause: () => pipe.pause(),
      resume: () => this.#resume(),
      tryEnd: () => pipe.flooded(),
    });
  }

  get isPaused(): boolean {
    return this.#meter.isPaused;
  }

  get isFlooding(): boolean {
    return this.#meter.isFlooding;
  }

  push(items: readonly T[]): void {
    this.#held = this.#held.length === 0 ? items : [...this.#held, ...items];
    this.#drain(false);
  }

  /** Counts a message. Answers are what was asked for, however many. */
  count(reception: Reception, bytes: number): void {
    if (reception === 'call' || reception === 'late') this.#meter.countCall(bytes);
    else if (reception !== 'answer') this.#meter.countUnsolicited(1, bytes);
  }

  /** Counts what completes no message. */
  countNoise(items: number, bytes: number): void {
    if (items > 0 || bytes > 0) this.#meter.countUnsolicited(items, bytes);
  }

  /** Hands on what is held, paused or not: the pipe has come to its end, and there may be answers among it. */
  release(): void {
    this.#drain(true);
  }

  /** Nothing that is held is handed on. */
  drop(): void {
    this.#held = [];
  }

  /** Counts and pauses no more. */
  stop(): void {
    this.#meter.stop();
  }

  #resume(): void {
    this.#drain(false);
    if (!this.isPaused) this.#pipe.resume();
  }

  #drain(evenPaused: boolean): void {
    const items = this.#held;
    let at = 0;
    // Another array: `take` has dropped the rest.
    while (at < items.length && this.#held === items && (evenPaused || !this.isPaused)) {
      this.#pipe.take(items[at++] as T);
    }
    if (this.#held === items) this.#held = at === items.length ? [] : items.slice(at);
  }
}
