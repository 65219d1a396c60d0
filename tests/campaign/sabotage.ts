/**
 * The campaign, tested itself: of a thousand answers one is dropped, doubled, or swapped with that of another
 * principal, on its way from the wire to the ledger. A campaign that reports anything but exactly those proves nothing.
 */
import type { Chance } from '../interaction/faults/chance.ts';
import type { Entry } from './ledger.ts';

export type Sabotage = 'drop' | 'double' | 'swap';

export interface Answer {
  readonly entry: Entry;
  deliver(text?: string): void;
  readonly text: string;
}

const ONE_IN = 1000;

export class Saboteur {
  /** The tokens that the report has to name, and no others. */
  readonly victims = new Set<string>();
  readonly #kind: Sabotage | undefined;
  readonly #chance: Chance;
  #held: Answer | undefined;

  constructor(kind: Sabotage | undefined, chance: Chance) {
    this.#kind = kind;
    this.#chance = chance;
  }

  pass(answer: Answer): void {
    const held = this.#held;
    // An error names no token: nobody could tell whose it is.
    const isNamed = answer.text.includes(answer.entry.token);
    if (held !== undefined && isNamed && held.entry.principal !== answer.entry.principal) {
      this.#held = undefined;
      this.victims.add(held.entry.token).add(answer.entry.token);
      held.deliver(answer.text);
      answer.deliver(held.text);
      return;
    }
    if (this.#kind === undefined || held !== undefined || !this.#chance.once(ONE_IN)) {
      answer.deliver();
      return;
    }
    if (this.#kind === 'swap') {
      if (isNamed) this.#held = answer;
      else answer.deliver();
      return;
    }
    this.victims.add(answer.entry.token);
    if (this.#kind === 'drop') return;
    answer.deliver();
    answer.deliver();
  }

  /** Whether its answer waits for one to be swapped with. */
  holds(entry: Entry): boolean {
    return this.#held?.entry === entry;
  }

  /** One that is still held has found nobody to be swapped with. */
  finish(): void {
    this.#held?.deliver();
    this.#held = undefined;
  }
}
