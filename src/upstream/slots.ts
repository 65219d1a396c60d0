/**
 * Calls that a backend is given at once. One principal alone may use all of it. Where it is full, calls wait, each principal in a
 * queue of its own, and principals take turns: what one of them sends does not delay another by more than the call that ends
 * next. How many wait, and for how long, is bounded.
 */
import { Failure } from '../errors/failure.ts';
import { FairQueue } from '../exchange/fair-queue.ts';
import type { TimerClock } from './deadlines.ts';

export interface SlotLimits {
  /** Calls at once. */
  readonly callsPerBackend: number;
  /** Calls that wait for their turn. */
  readonly queuedPerBackend: number;
  /** How long one waits for its turn. */
  readonly queueMs: number;
}

/** A call that waits for its turn. One of these is called, once, unless it is withdrawn before. */
export interface SlotWaiter {
  admitted(): void;
  refused(failure: Failure): void;
}

/** A place in the queue. */
export interface Ticket {
  readonly holder: string;
  readonly waiter: SlotWaiter;
  readonly until: number;
}

export class Slots {
  readonly #limits: SlotLimits;
  readonly #clock: TimerClock;
  readonly #queue: FairQueue<Ticket>;
  /** In the order in which they came, which is the order in which their time is over. */
  readonly #waiting = new Set<Ticket>();
  #taken = 0;
  #stopTimer: (() => void) | undefined;

  constructor(limits: SlotLimits, clock: TimerClock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#queue = new FairQueue(limits.queuedPerBackend);
  }

  /** Whether there is room at once, and nobody was before. Given back with `leave`. */
  enter(): boolean {
    if (this.#taken >= this.#limits.callsPerBackend || this.#queue.size > 0) return false;
    this.#taken++;
    return true;
  }

  /** For one that could not enter. Where there is no room to wait, somebody is refused, perhaps this one. */
  wait(holder: string, waiter: SlotWaiter): Ticket {
    const ticket: Ticket = { holder, waiter, until: this.#clock.now() + this.#limits.queueMs };
    const displaced = this.#queue.push(holder, ticket);
    if (displaced !== ticket) this.#waiting.add(ticket);
    if (displaced !== undefined) {
      this.#waiting.delete(displaced);
      // Not before whoever called has its call.
      queueMicrotask(() => displaced.waiter.refused(busy()));
    }
    this.#arm();
    return ticket;
  }

  /** It waits no longer. */
  withdraw(ticket: Ticket): void {
    this.#waiting.delete(ticket);
    this.#queue.remove(ticket.holder, ticket);
  }

  /** Whoever is next has the room. */
  leave(): void {
    this.#taken--;
    if (this.#taken >= this.#limits.callsPerBackend) return;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.#taken++;
    next.waiter.admitted();
  }

  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #arm(): void {
    const [oldest] = this.#waiting;
    if (oldest === undefined || this.#stopTimer !== undefined) return;
    this.#stopTimer = this.#clock.after(Math.max(0, oldest.until - this.#clock.now()), () => {
      this.#stopTimer = undefined;
      this.#expire();
      this.#arm();
    });
  }

  #expire(): void {
    const now = this.#clock.now();
    for (const ticket of this.#waiting) {
      if (ticket.until > now) return;
      this.withdraw(ticket);
      ticket.waiter.refused(busy());
    }
  }
}

function busy(): Failure {
  return new Failure('backend_busy', {
    message: 'Backend busy: all calls that it is given at once are taken (callsPerBackend, queuedPerBackend, queueMs)',
  });
}
