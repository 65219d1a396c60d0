/**
 * Time limits of calls. One coarse timer looks after all of them: a timer per call would cost more than the call's own
 * bookkeeping, and nobody can tell whether a minute was a quarter of a second longer.
 */
import type { Clock as FullClock } from '../exchange/clock.ts';

export type TimerClock = Pick<FullClock, 'now' | 'after'>;

export interface DeadlineLimits {
  /** Until anything comes back. */
  readonly firstByteMs: number;
  /** Since the last message for the call; progress counts. */
  readonly idleMs: number;
  /** All in all, but for the time in which questions are out to the client: that has limits of its own. Nothing else extends it. */
  readonly totalMs: number;
}

export type ExceededLimit = keyof DeadlineLimits;

/** What a call lets others see of its age. */
export interface TimedCall {
  readonly startedAt: number;
  /** When something last came for it; `startedAt` while nothing has. */
  readonly heardAt: number;
  readonly heard: boolean;
  /** Questions that are out to the client: the backend waits for us, so its silence proves nothing. */
  readonly asking: number;
  /** For how long questions have been out. */
  askingMs: number;
  /** Lives until somebody ends it: only its first message is awaited. */
  readonly longLived: boolean;
  /** The backend said that it is over; what is still due comes by then or never. */
  readonly endBy: number | undefined;
  timedOut(limit: ExceededLimit): void;
}

/** A fine grain compared to limits of seconds, and rare enough to cost nothing. */
const SWEEP_MS = 250;

export function exceeded(call: TimedCall, now: number, limits: DeadlineLimits): ExceededLimit | undefined {
  if (call.endBy !== undefined && now >= call.endBy) return 'idleMs';
  const waiting = call.asking === 0;
  if (!call.heard && waiting && now - call.startedAt >= limits.firstByteMs) return 'firstByteMs';
  if (call.longLived) return undefined;
  if (now - call.startedAt - call.askingMs >= limits.totalMs) return 'totalMs';
  if (call.heard && waiting && now - call.heardAt >= limits.idleMs) return 'idleMs';
  return undefined;
}

export class Deadlines {
  readonly #limits: DeadlineLimits;
  readonly #clock: TimerClock;
  readonly #calls = new Set<TimedCall>();
  #stopTimer: (() => void) | undefined;
  #sweptAt = 0;

  constructor(limits: DeadlineLimits, clock: TimerClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  watch(call: TimedCall): void {
    this.#calls.add(call);
    if (this.#stopTimer === undefined) this.#arm();
  }

  forget(call: TimedCall): void {
    this.#calls.delete(call);
  }

  /** The timer runs on until a sweep finds nothing to watch: calls come and go faster than timers are made. */
  #arm(): void {
    this.#sweptAt = this.#clock.now();
    this.#stopTimer = this.#clock.after(SWEEP_MS, () => {
      this.#stopTimer = undefined;
      this.#sweep();
      if (this.#calls.size > 0 && this.#stopTimer === undefined) this.#arm();
    });
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const call of this.#calls) {
      if (call.asking > 0) call.askingMs += now - Math.max(this.#sweptAt, call.startedAt);
      const limit = exceeded(call, now, this.#limits);
      if (limit === undefined) continue;
      this.#calls.delete(call);
      call.timedOut(limit);
    }
  }

  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#calls.clear();
  }
}
