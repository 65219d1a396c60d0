/** Ends processes that were idle for a while. */
import type { Clock } from '../../exchange/clock.ts';
import { LocalRefusal } from '../health.ts';
import type { Child } from './child.ts';

type IdleProcess = Pick<Child, 'lastActive' | 'alive' | 'busy' | 'kept' | 'stop'>;

export class IdleSweep {
  readonly #processes: () => Iterable<IdleProcess>;
  readonly #idleMs: number;
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  #cancel: (() => void) | undefined;

  constructor(processes: () => Iterable<IdleProcess>, idleMs: number, clock: Pick<Clock, 'now' | 'after'>) {
    this.#processes = processes;
    this.#idleMs = idleMs;
    this.#clock = clock;
  }

  /** To be called when a process was added. The timer runs while there are processes. */
  arm(): void {
    const now = this.#clock.now();
    const left = [...this.#processes()].map(({ lastActive }) => lastActive + this.#idleMs - now);
    if (this.#cancel !== undefined || left.length === 0) return;
    // A process that is due and still running is in use: it is checked again a whole period later.
    const nextMs = Math.min(this.#idleMs, ...left.filter((ms) => ms > 0));
    this.#cancel = this.#clock.after(nextMs, () => {
      this.#cancel = undefined;
      this.#sweep();
      this.arm();
    });
  }

  stop(): void {
    this.#cancel?.();
  }

  #sweep(): void {
    const due = this.#clock.now() - this.#idleMs;
    for (const child of this.#processes()) {
      if (child.alive && !child.busy && !child.kept && child.lastActive <= due) {
        void child.stop(new LocalRefusal({ message: 'Backend process was ended because it was idle' }));
      }
    }
  }
}
