/**
 * The machine's time, which a test can also move forward: what waits for an hour then waits no longer than the test
 * does.
 */
import type { Clock } from '../../../src/exchange/clock.ts';

interface Timer {
  readonly at: number;
  readonly action: () => void;
  handle: NodeJS.Timeout;
}

export class LeapClock implements Clock {
  #ahead = 0;
  readonly #timers = new Set<Timer>();

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return Date.now() + this.#ahead;
  }

  after(ms: number, action: () => void): () => void {
    const timer: Timer = { at: this.now() + ms, action, handle: this.#arm(ms, () => this.#fire(timer)) };
    this.#timers.add(timer);
    return () => this.#drop(timer);
  }

  soon(action: () => void): void {
    setImmediate(action);
  }

  /** Everything that is due by then happens now, in order, and sees the time at which it was due. */
  leap(ms: number): void {
    const goal = this.now() + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= goal).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#ahead = Math.max(this.#ahead, due.at - Date.now());
      this.#fire(due);
    }
    this.#ahead = Math.max(this.#ahead, goal - Date.now());
    for (const timer of this.#timers) {
      clearTimeout(timer.handle);
      timer.handle = this.#arm(timer.at - this.now(), () => this.#fire(timer));
    }
  }

  #arm(ms: number, action: () => void): NodeJS.Timeout {
    const handle = setTimeout(action, Math.max(0, ms));
    handle.unref();
    return handle;
  }

  #fire(timer: Timer): void {
    if (!this.#timers.has(timer)) return;
    this.#drop(timer);
    timer.action();
  }

  #drop(timer: Timer): void {
    clearTimeout(timer.handle);
    this.#timers.delete(timer);
  }
}
