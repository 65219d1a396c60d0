/** How many of something may be open at the same time, by key. */
import { Tally } from './tally.ts';

export interface SlotLimit {
  /** Whether there was a slot, which is taken then. A promise where other processes have to be asked. */
  take(key: string): boolean | Promise<boolean>;
  give(key: string): void;
}

/** Slots of this process alone. */
export class OwnSlots implements SlotLimit {
  readonly #limit: number;
  readonly #taken = new Tally();

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(key: string): boolean {
    if (this.#taken.of(key) >= this.#limit) return false;
    this.#taken.add(key, 1);
    return true;
  }

  give(key: string): void {
    this.#taken.add(key, -1);
  }
}
