/**
 * The running calls of one session, and their time limits. One coarse timer serves all calls: a timer per call would
 * cost more than the call's other bookkeeping, and a quarter of a second more makes no difference to a limit of
 * seconds.
 */
import type { Limits } from '../config/limits.ts';
import type { Clock as FullClock } from '../exchange/clock.ts';
import { LinkedList, type ListMember } from '../exchange/linked-list.ts';

export type TimerClock = Pick<FullClock, 'now' | 'after'>;

/**
 * `idleMs` counts since the last message for the call, progress included. `totalMs` counts all time, except while
 * server requests wait for the client, which have their own limits. Nothing else extends it.
 */
export type DeadlineLimits = Pick<Limits, 'firstByteMs' | 'idleMs' | 'totalMs'>;

export type ExceededLimit = keyof DeadlineLimits;

/** What the timer needs to know of a call. */
export interface TimedCall extends ListMember {
  /** Infinite until the request is sent: no limit applies before. */
  readonly startedAt: number;
  /** When something last arrived for the call; `startedAt` until then. */
  readonly heardAt: number;
  readonly heard: boolean;
  /** Open server requests of the call. The backend waits for us meanwhile, so its silence proves nothing. */
  readonly asking: number;
  /** How long server requests have been open, in total. */
  askingMs: number;
  /** Stays open until one side ends it: only the first message has a deadline. */
  readonly longLived: boolean;
  /** Its answer waits for something else: only the total time is limited. */
  readonly blocks: boolean;
  /** The backend ended the call. What is still due arrives by this time or never. */
  readonly endBy: number | undefined;
  timedOut(limit: ExceededLimit): void;
}

/** Fine compared to limits of seconds, and rare enough to cost nothing. */
const SWEEP_MS = 250;

export function exceeded(call: TimedCall, now: number, limits: DeadlineLimits): ExceededLimit | undefined {
  if (call.endBy !== undefined && now >= call.endBy) return 'idleMs';
  const waiting = call.asking === 0 && !call.blocks;
  if (!call.heard && waiting && now - call.startedAt >= limits.firstByteMs) return 'firstByteMs';
  if (call.longLived) return undefined;
  if (now - call.startedAt - call.askingMs >= limits.totalMs) return 'totalMs';
  if (call.heard && waiting && now - call.heardAt >= limits.idleMs) return 'idleMs';
  return undefined;
}

export class Deadlines<C extends TimedCall = TimedCall> extends LinkedList<C> {
  readonly clock: TimerClock;
  readonly #limits: DeadlineLimits;
  #stopTimer: (() => void) | undefined;
  #sweptAt = 0;

  constructor(limits: DeadlineLimits, clock: TimerClock) {
    super();
    this.#limits = limits;
    this.clock = clock;
  }

  /** Watches the call until it is removed. */
  watch(call: C): void {
    this.add(call);
    if (this.#stopTimer === undefined) this.#arm();
  }

  /** The timer keeps running until a sweep finds no calls: calls come and go faster than timers are made. */
  #arm(): void {
    this.#sweptAt = this.clock.now();
    this.#stopTimer = this.clock.after(SWEEP_MS, () => {
      this.#stopTimer = undefined;
      this.#sweep();
      if (this.size > 0 && this.#stopTimer === undefined) this.#arm();
    });
  }

  #sweep(): void {
    const now = this.clock.now();
    for (const call of this.members()) {
      // It waits to be sent: no limit applies yet, and its server requests take no time off a limit.
      if (call.startedAt === Number.POSITIVE_INFINITY) continue;
      if (call.asking > 0) call.askingMs += now - Math.max(this.#sweptAt, call.startedAt);
      const limit = exceeded(call, now, this.#limits);
      // The end of one call may have ended others.
      if (limit !== undefined && this.remove(call)) call.timedOut(limit);
    }
  }

  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.clear();
  }
}
