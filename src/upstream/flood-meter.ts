/**
 * Counts unsolicited messages of a backend on one pipe or stream. A pipe over its budget is paused until the period
 * ends; after several such periods in a row the backend is ended. Otherwise one backend could occupy the whole event
 * loop and starve all others.
 */
import type { Limits } from '../config/limits.ts';
import { Failure } from '../errors/failure.ts';
import type { TimerClock } from './deadlines.ts';

type FloodLimits = Pick<Limits, 'unsolicitedMessages' | 'unsolicitedMs' | 'unsolicitedPeriods'>;

/**
 * The budget of all pipes and streams of a backend together, in budgets of one: 20,000 messages a second by default.
 * Reading those takes a tenth of the event loop.
 */
const BACKEND_BUDGETS = 20;
/**
 * Above that, only pipes that used more than this part of their own budget are paused. Quiet pipes have room even if
 * `callsPerBackend` pipes flood.
 */
const GUARANTEED = 1 / 20;
/** Above this, all pipes are paused. By the same measure it is a fifth of the event loop. */
const MOST_BACKEND_BUDGETS = 2 * BACKEND_BUDGETS;

/** Shared by all pipes and streams of one backend, so that their number cannot starve other backends. */
export class FloodBudget {
  readonly limits: FloodLimits;
  #spent = 0;
  #periodEnds = 0;

  constructor(limits: FloodLimits) {
    this.limits = limits;
  }

  /** `own`: what this pipe has used in its period. False: the pipe has nothing left in this period. */
  spend(weight: number, own: number, now: number): boolean {
    if (now >= this.#periodEnds) {
      this.#spent = 0;
      this.#periodEnds = now + this.limits.unsolicitedMs;
    }
    this.#spent += weight;
    const { unsolicitedMessages } = this.limits;
    const isQuiet = own <= Math.max(1, GUARANTEED * unsolicitedMessages);
    return this.#spent <= (isQuiet ? MOST_BACKEND_BUDGETS : BACKEND_BUDGETS) * unsolicitedMessages;
  }
}

/** The pipe or stream that is counted. */
export interface Valve {
  pause(): void;
  resume(): void;
  /**
   * Called when the pipe was over the budget for too many periods. False: do not end it. It stays paused, and counting
   * restarts.
   */
  tryEnd(): boolean;
}

/** A large message counts as several: each this many bytes count as one more. */
const BYTES_PER_MESSAGE = 4096;
/**
 * Progress and log messages of running calls have a separate budget, this many times as large. A pipe over it is paused
 * but never ended: the call has its own limits, and a chatty server that works is only slowed down.
 */
const CALL_BUDGETS = 10;

export class FloodMeter {
  readonly #budget: FloodBudget;
  readonly #limits: FloodLimits;
  readonly #clock: TimerClock;
  readonly #valve: Valve;
  /** Counted in this period, in messages. */
  #unsolicited = 0;
  #ofCalls = 0;
  #periodEnds = 0;
  /** Consecutive periods over the budget, this one included. */
  #exceeded = 0;
  #isStopped = false;
  #cancelResume: (() => void) | undefined;

  constructor(budget: FloodBudget, clock: TimerClock, valve: Valve) {
    this.#budget = budget;
    this.#limits = budget.limits;
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

  /** Counts messages outside of running calls, by number and bytes. */
  countUnsolicited(messages: number, bytes: number): void {
    if (this.#isStopped) return;
    const weight = messages + Math.floor(bytes / BYTES_PER_MESSAGE);
    const now = this.#turnPeriod();
    this.#unsolicited += weight;
    const isLeft = this.#spend(weight, now);
    if (this.isPaused) return;
    const isOver = this.#unsolicited > this.#limits.unsolicitedMessages;
    if (isOver) this.#exceeded++;
    if (isOver && this.#exceeded >= this.#limits.unsolicitedPeriods) {
      if (this.#valve.tryEnd()) return;
      this.#exceeded = 0;
    }
    if (isOver || !isLeft) this.#pause();
  }

  /** Counts a message of a running call. */
  countCall(bytes: number): void {
    if (this.#isStopped) return;
    const weight = 1 + Math.floor(bytes / BYTES_PER_MESSAGE);
    const now = this.#turnPeriod();
    this.#ofCalls += weight;
    const isLeft = this.#spend(weight, now);
    if (this.isPaused) return;
    if (!isLeft || this.#ofCalls > CALL_BUDGETS * this.#limits.unsolicitedMessages) this.#pause();
  }

  /** Stops counting and pausing. Whether to resume the pipe is up to the caller. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelResume?.();
    this.#cancelResume = undefined;
  }

  #spend(weight: number, now: number): boolean {
    return this.#budget.spend(weight, this.#unsolicited + this.#ofCalls, now);
  }

  #pause(): void {
    this.#cancelResume = this.#clock.after(this.#periodEnds - this.#clock.now(), () => {
      this.#cancelResume = undefined;
      this.#begin(this.#clock.now());
      this.#valve.resume();
    });
    this.#valve.pause();
  }

  /** Starts a new period where one is due. Returns the current time. */
  #turnPeriod(): number {
    const now = this.#clock.now();
    if (now >= this.#periodEnds && !this.isPaused) this.#begin(now);
    return now;
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

/** The failure of a process or stream that was ended for flooding. */
export function floodFailure(): Failure {
  const cure = 'look at what the backend sends (`log.level: debug`) and fix it, or raise `limits.unsolicitedMessages`';
  return new Failure('backend_flooding', { cure });
}
