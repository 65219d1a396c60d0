/**
 * Slots that all processes share. A process uses its first lot without asking, and takes further slots in lots, so that
 * most changes concern this process alone. All processes together exceed the limit by one lot each at the most. Slots
 * that are held by agreement are held again in time; those of a process that has ended are free again afterwards.
 */
import type { Clock } from '../exchange/clock.ts';
import type { SlotLimit } from '../exchange/slots.ts';
import type { SharedCounts } from '../store/counts.ts';

/** A lot is this part of the limit. */
const LOTS = 20;
/** Held slots are free after `HELD_MS`, and are held again after `AGAIN_MS`: twice that may fail. */
const HELD_MS = 60_000;
const AGAIN_MS = 20_000;

export interface SharedSlotsOptions {
  /** What is counted: part of the key of each count. */
  readonly name: string;
  readonly limit: number;
  /** Never rejects. */
  readonly counts: Pick<SharedCounts, 'hold'>;
  readonly clock: Pick<Clock, 'after'>;
}

interface OwnSlotsOf {
  used: number;
  /** By agreement with the other processes. Those in use without agreement are counted too. */
  held: number;
  readonly waiting: ((isTaken: boolean) => void)[];
  isAsking: boolean;
}

export class SharedSlots implements SlotLimit {
  readonly #options: SharedSlotsOptions;
  /** How many this process may use without asking. None where the limit is low. */
  readonly #free: number;
  readonly #keys = new Map<string, OwnSlotsOf>();
  #stopHolding: () => void;

  constructor(options: SharedSlotsOptions) {
    this.#options = options;
    this.#free = Math.floor(options.limit / LOTS);
    this.#stopHolding = options.clock.after(AGAIN_MS, () => this.#holdAgain());
  }

  take(key: string): boolean | Promise<boolean> {
    const own = this.#keys.get(key) ?? { used: 0, held: 0, waiting: [], isAsking: false };
    this.#keys.set(key, own);
    if (own.waiting.length === 0 && own.used < this.#mayUse(own)) {
      own.used += 1;
      return true;
    }
    return new Promise((resolve) => {
      own.waiting.push(resolve);
      this.#ask(key, own);
    });
  }

  give(key: string): void {
    const own = this.#keys.get(key);
    if (own === undefined) return;
    own.used -= 1;
    if (this.#holdsTooMany(own)) this.#ask(key, own);
    this.#tidy(key, own);
  }

  close(): void {
    this.#stopHolding();
  }

  #mayUse({ held }: OwnSlotsOf): number {
    return Math.max(this.#free, held);
  }

  /** With some room in between: giving back every slot at once would ask with every change. */
  #holdsTooMany({ held, used }: OwnSlotsOf): boolean {
    return held > 0 && (held - used > 2 * this.#free || 2 * used <= this.#free);
  }

  /** One question at a time for each key: the answer to an earlier one must not replace that to a later one. */
  #ask(key: string, own: OwnSlotsOf): void {
    if (!own.isAsking) void this.#agree(key, own);
  }

  async #agree(key: string, own: OwnSlotsOf): Promise<void> {
    const { name, limit, counts } = this.#options;
    own.isAsking = true;
    do {
      const asked = own.waiting.length;
      const isNeeded = asked > 0 || own.used > this.#free;
      const used = isNeeded ? own.used : 0;
      const wanted = isNeeded ? used + Math.max(asked, this.#free) : 0;
      // Slots that are being given back must not be taken meanwhile.
      own.held = Math.min(own.held, wanted);
      own.held = await counts.hold(`${name} ${key}`, { limit, used, wanted, ttlMs: HELD_MS });
      for (const resolve of own.waiting.splice(0, asked)) {
        const isTaken = own.used < this.#mayUse(own);
        if (isTaken) own.used += 1;
        resolve(isTaken);
      }
    } while (own.waiting.length > 0 || this.#holdsTooMany(own));
    own.isAsking = false;
    this.#tidy(key, own);
  }

  #tidy(key: string, own: OwnSlotsOf): void {
    if (own.used === 0 && own.held === 0 && own.waiting.length === 0 && !own.isAsking) this.#keys.delete(key);
  }

  #holdAgain(): void {
    for (const [key, own] of this.#keys) if (own.held > 0) this.#ask(key, own);
    this.#stopHolding = this.#options.clock.after(AGAIN_MS, () => this.#holdAgain());
  }
}
