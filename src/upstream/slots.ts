/**
 * Limits concurrent calls to a backend. One principal may use all slots. When they are taken, calls wait in one queue
 * per principal, and principals take turns: the calls of one principal delay another principal by no more than the next
 * call to end. The number of waiting calls and their waiting time are limited.
 */
import type { Limits } from '../config/limits.ts';
import { Failure } from '../errors/failure.ts';
import { FairQueue } from '../exchange/fair-queue.ts';
import { LinkedList, type ListMember } from '../exchange/linked-list.ts';
import type { TimerClock } from './deadlines.ts';

export type SlotLimits = Pick<Limits, 'callsPerBackend' | 'queuedPerBackend' | 'queueMs'>;

/** A call that waits for a slot. One of these is called, once, unless the call is withdrawn before. */
export interface SlotWaiter {
  admitted(): void;
  refused(failure: Failure): void;
}

/** A place in the queue. */
export interface Ticket extends ListMember {
  readonly holder: string;
  readonly waiter: SlotWaiter;
  readonly until: number;
}

export class Slots {
  readonly #limits: SlotLimits;
  readonly #clock: TimerClock;
  readonly #queue: FairQueue<Ticket>;
  /** In order of arrival, which is the order in which they expire. */
  readonly #waiting = new LinkedList<Ticket>();
  #taken = 0;
  #blocking: Slots | undefined;
  #stopTimer: (() => void) | undefined;

  constructor(limits: SlotLimits, clock: TimerClock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#queue = new FairQueue(limits.queuedPerBackend);
  }

  /**
   * As many again for calls that wait for something else, such as the result of a task. They may wait for as long as a
   * call may last, and cost the backend nothing meanwhile: other calls must not wait for them.
   */
  get blocking(): Slots {
    this.#blocking ??= new Slots(this.#limits, this.#clock);
    return this.#blocking;
  }

  /** Takes a slot if one is free and no call waits for it. The caller must give it back. */
  enter(): boolean {
    if (this.#taken >= this.#limits.callsPerBackend || this.#waiting.size > 0) return false;
    this.#taken++;
    return true;
  }

  /** Queues a call that could not enter. When the queue is full, one call is refused, possibly this one. */
  wait(holder: string, waiter: SlotWaiter): Ticket {
    const until = this.#clock.now() + this.#limits.queueMs;
    const ticket: Ticket = { holder, waiter, until };
    const displaced = this.#queue.push(holder, ticket);
    if (displaced !== ticket) this.#waiting.add(ticket);
    if (displaced !== undefined) {
      this.#waiting.remove(displaced);
      // Only after the caller has its call.
      queueMicrotask(() => displaced.waiter.refused(busy()));
    }
    this.#arm();
    return ticket;
  }

  /** Removes a waiting call. */
  withdraw(ticket: Ticket): void {
    this.#waiting.remove(ticket);
    this.#queue.remove(ticket.holder, ticket);
  }

  /** Frees a slot; the next waiting call gets it. */
  leave(): void {
    this.#taken--;
    if (this.#waiting.size === 0 || this.#taken >= this.#limits.callsPerBackend) return;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#waiting.remove(next);
    this.#taken++;
    next.waiter.admitted();
  }

  close(): void {
    this.#blocking?.close();
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #arm(): void {
    const oldest = this.#waiting.first;
    if (oldest === undefined || this.#stopTimer !== undefined) return;
    this.#stopTimer = this.#clock.after(Math.max(0, oldest.until - this.#clock.now()), () => {
      this.#stopTimer = undefined;
      this.#expire();
      this.#arm();
    });
  }

  #expire(): void {
    const now = this.#clock.now();
    for (let ticket = this.#waiting.first; ticket !== undefined && ticket.until <= now; ticket = this.#waiting.first) {
      this.withdraw(ticket);
      ticket.waiter.refused(busy());
    }
  }
}

function busy(): Failure {
  return new Failure('backend_busy', {
    message:
      'Backend busy: too many concurrent calls (limits.callsPerBackend, limits.queuedPerBackend, limits.queueMs)',
  });
}
