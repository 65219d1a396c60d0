/**
 * Counts that all processes of a gateway share: rates, open sessions, wrong passwords. Every implementation has to pass
 * tests/store/counts-contract.ts. All methods reject with an error while the counts cannot be reached.
 */

/** A token bucket, as the caller's config has it: it is in force from this call on. */
export interface Bucket {
  readonly perSecond: number;
  readonly capacity: number;
}

export interface TakenTokens {
  readonly tokens: number;
  /** Milliseconds until the bucket has a token again. 0 where it gave all that was wanted. */
  readonly waitMs: number;
}

/** Slots of one kind. A process holds some of them, for a time. */
export interface SlotRequest {
  readonly limit: number;
  /** Slots in use: they count, whatever the limit says. */
  readonly used: number;
  readonly wanted: number;
  /** After this time the slots are free again, unless they are asked for again. */
  readonly ttlMs: number;
}

/** A name under which attempts are counted, for `withinMs` after the first. */
export interface AttemptCounter {
  readonly kind: string;
  readonly name: string;
  readonly most: number;
  readonly withinMs: number;
  /** Names of this kind that are counted at the same time, where they are kept in memory. */
  readonly names: number;
}

export interface AttemptCounts {
  /**
   * Counts one attempt with each counter, unless one of them is at its limit. Resolves with the milliseconds to wait;
   * 0 where the attempt was counted.
   */
  attempt(counters: readonly AttemptCounter[]): Promise<number>;
  /** Takes back one attempt from each of `counters`, and all attempts from each of `forgotten`. */
  takeBack(counters: readonly AttemptCounter[], forgotten?: readonly AttemptCounter[]): Promise<void>;
}

export interface SharedCounts extends AttemptCounts {
  /** Takes up to `most` whole tokens. */
  take(key: string, bucket: Bucket, most: number): Promise<TakenTokens>;
  /** Replaces the slots that this process holds. Resolves with how many it holds now. */
  hold(key: string, request: SlotRequest): Promise<number>;
}

/** What is in a bucket that had `tokens`, after so many milliseconds. */
export function refilled(tokens: number, sinceMs: number, { perSecond, capacity }: Bucket): number {
  return Math.min(capacity, tokens + (sinceMs / 1_000) * perSecond);
}
