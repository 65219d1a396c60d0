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
  /** It flooded for too long. */
  flooded(): void;
}

/** Reading so many lines that complete nothing takes as long as one message. */
const LINES_PER_MESSAGE = 16;

export class Throttle<T> {
  readonly #pipe: ThrottledPipe<T>;
  readonly #meter: FloodMeter;
  /** Of one chunk, mostly: the rest that was read when the pipe was paused. */
  #held: readonly T[] = [];
  #isEnded = false;

  constructor(budget: FloodBudget, clock: FloodClock, pipe: ThrottledPipe<T>) {
    this.#pipe = pipe;
    this.#meter = new FloodMeter(budget, clock, {
      pause: () => pipe.pause(),
      resume: () => this.#resume(),
      tryEnd: () => this.#end(),
    });
  }

  get isPaused(): boolean {
    return this.#meter.isPaused;
  }

  get isFlooding(): boolean {
    return this.#meter.isFlooding;
  }

  /** It flooded for too long: nothing more is handed on. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Another pipe takes the place of the one that was ended. */
  restart(): void {
    this.#isEnded = false;
  }

  push(items: readonly T[]): void {
    if (this.#isEnded) return;
    this.#held = this.#held.length === 0 ? items : [...this.#held, ...items];
    this.#drain(false);
  }

  /** Counts a message. Answers are what was asked for, however many. */
  count(reception: Reception, bytes: number): void {
    if (this.#isEnded) return;
    if (reception === 'call' || reception === 'late') this.#meter.countCall(bytes);
    else if (reception !== 'answer') this.#meter.countUnsolicited(1, bytes);
  }

  /** Counts what completes no message. */
  countNoise(items: number, bytes: number): void {
    if (this.#isEnded) return;
    if (items > 0 || bytes > 0) this.#meter.countUnsolicited(items, bytes);
  }

  /** Counts lines that complete nothing, and cost less than a message. */
  countLines(lines: number): void {
    this.countNoise(lines / LINES_PER_MESSAGE, 0);
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

  #end(): boolean {
    this.#isEnded = true;
    this.drop();
    this.#pipe.flooded();
    return true;
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
