/**
 * Limits the questions that are under way: in total, and for each principal. Others wait, and principals take turns, so
 * one principal with many requests delays only itself.
 */
import { DecisionFault } from './fault.ts';

/** A principal with more waiting questions sends faster than any decision point answers. */
const WAITING_PER_HOLDER = 64;
const WAITING = 1_024;

interface SlotHolder {
  running: number;
  readonly waiting: (() => void)[];
}

export class QuestionSlots {
  readonly #most: number;
  readonly #share: number;
  /** In the order of their turns. A holder without questions is removed. */
  readonly #holders = new Map<string, SlotHolder>();
  #running = 0;
  #waiting = 0;

  /** How many principals have questions. */
  get holders(): number {
    return this.#holders.size;
  }

  constructor(most: number) {
    this.#most = most;
    this.#share = Math.max(1, Math.floor(most / 4));
  }

  /** Resolves with the function that releases the slot, to be called once. Rejects when the signal is aborted. */
  async enter(key: string, signal: AbortSignal): Promise<() => void> {
    const holder = this.#holders.get(key) ?? { running: 0, waiting: [] };
    this.#holders.set(key, holder);
    try {
      if (!this.#hasRoom(holder)) await this.#wait(holder, signal);
      else this.#take(holder);
    } finally {
      this.#forgetIdle(key, holder);
    }
    return () => this.#release(key, holder);
  }

  /** The principal may have another holder already, if this one was forgotten before. */
  #forgetIdle(key: string, holder: SlotHolder): void {
    const isIdle = holder.running === 0 && holder.waiting.length === 0;
    if (isIdle && this.#holders.get(key) === holder) this.#holders.delete(key);
  }

  #hasRoom({ running }: SlotHolder): boolean {
    return this.#running < this.#most && running < this.#share;
  }

  #take(holder: SlotHolder): void {
    holder.running += 1;
    this.#running += 1;
  }

  /** The slot is taken on behalf of the waiting question before it is woken. */
  #wait(holder: SlotHolder, signal: AbortSignal): Promise<void> {
    if (this.#waiting >= WAITING || holder.waiting.length >= WAITING_PER_HOLDER)
      return Promise.reject(new DecisionFault('too_many_questions'));
    return new Promise((resolve, reject) => {
      const given = () => {
        signal.removeEventListener('abort', givenUp);
        resolve();
      };
      const givenUp = () => {
        const at = holder.waiting.indexOf(given);
        if (at === -1) return;
        holder.waiting.splice(at, 1);
        this.#waiting -= 1;
        reject(signal.reason);
      };
      holder.waiting.push(given);
      this.#waiting += 1;
      signal.addEventListener('abort', givenUp, { once: true });
    });
  }

  #release(key: string, holder: SlotHolder): void {
    holder.running -= 1;
    this.#running -= 1;
    this.#forgetIdle(key, holder);
    for (const [next, candidate] of this.#holders) {
      const given = candidate.waiting.length > 0 && this.#hasRoom(candidate) ? candidate.waiting.shift() : undefined;
      if (given === undefined) continue;
      this.#waiting -= 1;
      this.#take(candidate);
      // Behind all others, until its next turn.
      this.#holders.delete(next);
      this.#holders.set(next, candidate);
      given();
      return;
    }
  }
}
