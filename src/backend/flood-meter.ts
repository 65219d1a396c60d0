/**
 * Counts what a backend sends that nobody asked for, on one pipe or stream. Over the budget of a period the pipe is paused
 * until the period ends; after several such periods in a row the backend is ended. Without it one backend could take the
 * whole event loop, and all other backends would wait.
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

export type FloodClock = Pick<Clock, 'now' | 'after'>;

/** The pipe or stream that is counted. */
export interface Valve {
  pause(): void;
  resume(): void;
  /** It was over the budget for too many periods. False: it is to go on, paused as before. */
  end(): boolean;
}

/** A large message costs what several small ones do: so many bytes count as one more. */
const BYTES_PER_MESSAGE = 4096;
/**
 * Progress and log messages of running calls have a budget of their own, so many times as large. Over it the pipe is paused,
 * too, but never ended: the call has its own limits, and a chatty server that works is only slowed down.
 */
const CALL_BUDGETS = 10;

export class FloodMeter {
  readonly #limits: FloodLimits;
  readonly #clock: FloodClock;
  readonly #valve: Valve;
  /** Both of this period. */
  #unsolicited = 0;
  #ofCalls = 0;
  #periodEnds = 0;
  /** Periods in a row, up to this one, that were over the budget. */
  #exceeded = 0;
  #isStopped = false;
  #cancelResume: (() => void) | undefined;

  constructor(limits: FloodLimits, clock: FloodClock, valve: Valve) {
    this.#limits = limits;
    this.#clock = clock;
    this.#valve = valve;
  }

  get isPaused(): boolean {
    return this.#cancelResume !== undefined;
  }

  /** Whether this period or the one before it is over the budget. */
  get isFlooding(): boolean {
    this.#turnPeriod();
    return this.#exceeded > 0;
  }

  /** Counts messages that belong to no running call, and the bytes of all of them. */
  unsolicited(messages: number, bytes: number): void {
    if (this.#isStopped) return;
    this.#turnPeriod();
    this.#unsolicited += weight(messages, bytes);
    if (this.isPaused || this.#unsolicited <= this.#limits.unsolicitedMessages) return;
    this.#exceeded++;
    if (this.#exceeded < this.#limits.unsolicitedPeriods || !this.#valve.end()) this.#pause();
  }

  /** Counts a message of a running call. */
  ofCall(bytes: number): void {
    if (this.#isStopped) return;
    this.#turnPeriod();
    this.#ofCalls += weight(1, bytes);
    if (!this.isPaused && this.#ofCalls > CALL_BUDGETS * this.#limits.unsolicitedMessages) this.#pause();
  }

  /** Counts and pauses no more. The caller resumes the pipe, or does not. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelResume?.();
    this.#cancelResume = undefined;
  }

  #pause(): void {
    this.#cancelResume = this.#clock.after(this.#periodEnds - this.#clock.now(), () => {
      this.#cancelResume = undefined;
      this.#begin(this.#clock.now());
      this.#valve.resume();
    });
    this.#valve.pause();
  }

  #turnPeriod(): void {
    const now = this.#clock.now();
    if (now >= this.#periodEnds && !this.isPaused) this.#begin(now);
  }

  #begin(now: number): void {
    const { unsolicitedMessages, unsolicitedMs } = this.#limits;
    const wasSilent = now >= this.#periodEnds + unsolicitedMs;
    if (wasSilent || this.#unsolicited <= unsolicitedMessages) this.#exceeded = 0;
    this.#unsolicited = 0;
    this.#ofCalls = 0;
    this.#periodEnds = now + unsolicitedMs;
  }
}

function weight(messages: number, bytes: number): number {
  return messages + Math.floor(bytes / BYTES_PER_MESSAGE);
}
