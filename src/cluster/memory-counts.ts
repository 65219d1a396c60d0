/** Shared counts in the memory of one process, which asks for others: a worker each. */
import { BoundedMap } from '../exchange/bounded-map.ts';
import { MemoryAttempts } from '../exchange/memory-attempts.ts';
import { type Bucket, refilled, type SharedCounts, type SlotRequest, type TakenTokens } from '../store/counts.ts';

/** Principals times tools in use at the same time, some 200 bytes each. The least recently used is the fullest. */
const BUCKETS = 100_000;

interface KeptBucket {
  tokens: number;
  filledAt: number;
}

interface HeldSlots {
  count: number;
  until: number;
}

export class MemoryCounts {
  readonly #now: () => number;
  readonly #buckets = new BoundedMap<KeptBucket>(BUCKETS);
  /** By key, then by member. Only members in use have entries, so their number is bounded by what they hold. */
  readonly #slots = new Map<string, Map<string, HeldSlots>>();
  readonly #attempts: MemoryAttempts;

  /** `now`: in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#attempts = new MemoryAttempts(now);
  }

  /** The counts as one of the members uses them. */
  of(member: string): SharedCounts {
    return {
      take: async (key, bucket, most) => this.#take(key, bucket, most),
      hold: async (key, request) => this.#hold(key, member, request),
      attempt: (counters) => this.#attempts.attempt(counters),
      takeBack: (counters, forgotten) => this.#attempts.takeBack(counters, forgotten),
    };
  }

  /** The member has ended: its slots are free. */
  forget(member: string): void {
    for (const [key, members] of this.#slots) {
      members.delete(member);
      if (members.size === 0) this.#slots.delete(key);
    }
  }

  #take(key: string, { perSecond, capacity }: Bucket, most: number): TakenTokens {
    const now = this.#now();
    const kept = this.#buckets.get(key) ?? { tokens: capacity, filledAt: now };
    const since = Math.max(0, now - kept.filledAt);
    const there = refilled(kept.tokens, since, { perSecond, capacity });
    const tokens = Math.min(most, Math.floor(there));
    const left = there - tokens;
    this.#buckets.set(key, { tokens: left, filledAt: now });
    return { tokens, waitMs: tokens === most ? 0 : Math.ceil(((1 - left) / perSecond) * 1_000) };
  }

  #hold(key: string, member: string, { limit, used, wanted, ttlMs }: SlotRequest): number {
    const now = this.#now();
    const members = this.#slots.get(key) ?? new Map<string, HeldSlots>();
    members.delete(member);
    let others = 0;
    for (const [other, { count, until }] of members) {
      if (until <= now) members.delete(other);
      else others += count;
    }
    const count = Math.max(used, Math.min(wanted, limit - others));
    if (count > 0) members.set(member, { count, until: now + ttlMs });
    if (members.size > 0) this.#slots.set(key, members);
    else this.#slots.delete(key);
    return count;
  }
}
