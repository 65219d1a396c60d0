/** Which principals made processes crash lately: only they wait before the next process is started for them. */
import type { Clock } from '../../exchange/clock.ts';

/** From this many entries on, expired ones are removed. */
const MANY = 256;

export class Crashes {
  readonly #pauseMs: number;
  readonly #clock: Pick<Clock, 'now' | 'after'>;
  readonly #until = new Map<string, number>();
  /** Ends the pauses of callers that wait. */
  readonly #paused = new Set<() => void>();

  constructor(pauseMs: number, clock: Pick<Clock, 'now' | 'after'>) {
    this.#pauseMs = pauseMs;
    this.#clock = clock;
  }

  add(owner: string): void {
    const now = this.#clock.now();
    if (this.#until.size >= MANY) for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key);
    this.#until.set(owner, now + this.#pauseMs);
  }

  /** Resolves when the principal may have its next process. Undefined: now. */
  pause(owner: string): Promise<void> | undefined {
    const leftMs = (this.#until.get(owner) ?? 0) - this.#clock.now();
    if (leftMs <= 0) return undefined;
    return new Promise((resolve) => {
      const over = () => {
        stopTimer();
        this.#paused.delete(over);
        resolve();
      };
      const stopTimer = this.#clock.after(leftMs, over);
      this.#paused.add(over);
    });
  }

  /** Ends all pauses. */
  close(): void {
    for (const over of [...this.#paused]) over();
  }
}
