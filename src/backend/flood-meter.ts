/**
 * Counts what a backend sends that belongs to no running call, on one pipe or stream. Over the budget of a period the pipe is
 * paused until the period ends; after several such periods in a row the backend is ended. Without it one backend could take
 * the whole event loop, and all other backends would wait.
 */
import type { Clock } from '../exchange/clock.ts';

export interface FloodLimits {
  /** The budget of one period. */
  readonly unsolicitedMessages: number;
  /** The length of a period. */
  readonly unsolicitedMs: number;
  /** Periods in a row over the budget until the backend is ended. */
  readonly unsolicitedPeriods: number;
}

/** The pipe or stream that is counted. */
export interface Valve {
  pause(): void;
  resume(): void;
  /** It was over the budget for too many periods. False: it is to go on, paused as before. */
  end(): boolean;
}

/** A large message costs what several small ones do: so many bytes count as one more. */
const BYTES_PER_MESSAGE = 4096;

export class FloodMeter {
  readonly #limits: FloodLimits;
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  readonly #valve: Valve;
  #count = 0;
  #periodEnds = 0;
  /** Periods in a row, up to this one, that were over the budget. */
  #exceeded = 0;
  #isStopped = false;
  #cancelResume: (() => void) | undefined;

  constructor(limits: FloodLimits, clock: Pick<Clock, 'now' | 'after'>, valve: Valve) {
    this.#limits = limits;
    this.#clock = clock;
    this.#valve = valve;
  }

  get isPaused(): boolean {
    return this.#cancelResume !== undefined;
  }

  /** Counts messages, and the bytes of all of them. */
  add(messages: number, bytes: number): void {
    if (this.#isStopped) return;
    const now = this.#clock.now();
    if (now >= this.#periodEnds) {
      // A period over the budget ends in `#resume`: this one was within it.
      if (!this.isPaused) this.#exceeded = 0;
      this.#begin(now);
    }
    this.#count += messages + Math.floor(bytes / BYTES_PER_MESSAGE);
    if (this.#count <= this.#limits.unsolicitedMessages || this.isPaused) return;
    this.#exceeded++;
    if (this.#exceeded >= this.#limits.unsolicitedPeriods && this.#valve.end()) {
      this.stop();
      return;
    }
    this.#cancelResume = this.#clock.after(this.#periodEnds - now, () => this.#resume());
    this.#valve.pause();
  }

  /** Counts and pauses no more. Whoever calls it resumes the pipe, or does not. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelResume?.();
    this.#cancelResume = undefined;
  }

  #resume(): void {
    this.#cancelResume = undefined;
    this.#begin(this.#clock.now());
    this.#valve.resume();
  }

  #begin(now: number): void {
    this.#count = 0;
    this.#periodEnds = now + this.#limits.unsolicitedMs;
  }
}
