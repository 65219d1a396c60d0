/**
 * Counts what a backend sends that nobody asked for, on one pipe or stream. Over the budget of a period the pipe is
 * paused until the period ends; after several such periods in a row the backend is ended. Without it one backend could
 * take the whole event loop, and all other backends would wait.
 */
import { Failure } from '../errors/failure.ts';
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

/**
 * All pipes and streams of a backend together have the budgets of so many: 20,000 messages a second, unless configured.
 * Reading those takes a tenth of the event loop.
 */
const BACKEND_BUDGETS = 20;
/** Over that, only pipes that sent more than this part of one budget are paused. `callsPerBackend` that all flood leave room. */
const GUARANTEED = 1 / 20;
/** Over this, all pipes are paused: by the same measure, a fifth of the event loop. */
const MOST_BACKEND_BUDGETS = 2 * BACKEND_BUDGETS;

/** What all pipes and streams of one backend share: however many there are, they leave time for other backends. */
export class FloodBudget {
  readonly limits: FloodLimits;
  #spent = 0;
  #periodEnds = 0;

  constructor(limits: FloodLimits) {
    this.limits = limits;
  }

  /** `own`: what the pipe has spent in its period. False: nothing is left for it in this one. */
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
  /** It was over the budget for too many periods. False: it is to go on, paused as before, and counts anew. */
  tryEnd(): boolean;
}

/** A large message costs what several small ones do: so many bytes count as one more. */
const BYTES_PER_MESSAGE = 4096;
/**
 * Progress and log messages of running calls have a budget of their own, so many times as large. Over it the pipe is
 * paused, too, but never ended: the call has its own limits, and a chatty server that works is only slowed down.
 */
const CALL_BUDGETS = 10;

export class FloodMeter {
  readonly #budget: FloodBudget;
  readonly #limits: FloodLimits;
  readonly #clock: FloodClock;
  readonly #valve: Valve;
  /** What was counted in this period, in messages. */
  #unsolicited = 0;
  #ofCalls = 0;
  #periodEnds = 0;
  /** Periods in a row, up to this one, that were over the budget. */
  #exceeded = 0;
  #isStopped = false;
  #cancelResume: (() => void) | undefined;

  constructor(budget: FloodBudget, clock: FloodClock, valve: Valve) {
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

  /** Counts messages that belong to no running call, and the bytes of all of them. */
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

  /** Counts and pauses no more. The caller resumes the pipe, or does not. */
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

  /** Returns what time it is. */
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

/** Why the process or stream of a backend was ended. */
export function floodFailure(): Failure {
  const cure = 'see what the backend sends (`log.level: debug`) and correct it, or raise `limits.unsolicitedMessages`';
  return new Failure('backend_flooding', { cure });
}
