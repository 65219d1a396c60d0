/**
 * Shared counts that never fail. While they cannot be reached, or take too long, this process counts for itself, with
 * its part of each limit. It tries the shared counts again by itself.
 */
import type { Clock } from '../exchange/clock.ts';
import { within } from '../exchange/within.ts';
import type { AttemptCounter, Bucket, SharedCounts, SlotRequest, TakenTokens } from '../store/counts.ts';
import { MemoryCounts } from './memory-counts.ts';

/** A call waits for this at the most. Redis and the primary process answer within a millisecond or two. */
const ANSWER_MS = 1_000;
/** After a failure, the shared counts are not asked for so long. */
const PAUSE_MS = 1_000;
const LATE = `there was no answer within ${ANSWER_MS} ms`;

export interface FallbackOptions {
  readonly shared: SharedCounts;
  /** Processes that share the limits, as far as it is known. */
  readonly members: () => number;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** For operators. */
  readonly warn: (text: string, facts: Readonly<Record<string, unknown>>) => void;
}

type Counting<T> = (counts: SharedCounts) => Promise<T>;

export class FallbackCounts implements SharedCounts {
  readonly #options: FallbackOptions;
  readonly #own: SharedCounts;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #isAlone = false;

  constructor(options: FallbackOptions) {
    this.#options = options;
    this.#own = new MemoryCounts(() => options.clock.now()).of('this process');
  }

  take(key: string, bucket: Bucket, most: number): Promise<TakenTokens> {
    return this.#count(
      (shared) => shared.take(key, bucket, most),
      (own) =>
        own.take(key, { perSecond: this.#partOf(bucket.perSecond), capacity: this.#whole(bucket.capacity) }, most),
    );
  }

  hold(key: string, request: SlotRequest): Promise<number> {
    return this.#count(
      (shared) => shared.hold(key, request),
      (own) => own.hold(key, { ...request, limit: this.#whole(request.limit) }),
    );
  }

  attempt(counters: readonly AttemptCounter[]): Promise<number> {
    return this.#count(
      (shared) => shared.attempt(counters),
      (own) => own.attempt(this.#shareOf(counters)),
    );
  }

  takeBack(counters: readonly AttemptCounter[], forgotten: readonly AttemptCounter[] = []): Promise<void> {
    return this.#count(
      (shared) => shared.takeBack(counters, forgotten),
      (own) => own.takeBack(this.#shareOf(counters), this.#shareOf(forgotten)),
    );
  }

  async #count<T>(shared: Counting<T>, own: Counting<T>): Promise<T> {
    const { clock } = this.#options;
    if (clock.now() < this.#pausedUntil) return own(this.#own);
    // One tries, and the others need not wait for it.
    if (this.#isAlone) this.#pausedUntil = clock.now() + PAUSE_MS;
    try {
      const counted = await within(clock, ANSWER_MS, shared(this.#options.shared), () => {
        throw new Error(LATE);
      });
      this.#reached();
      return counted;
    } catch (error) {
      this.#failed(error);
      return own(this.#own);
    }
  }

  #reached(): void {
    if (!this.#isAlone) return;
    this.#isAlone = false;
    this.#pausedUntil = Number.NEGATIVE_INFINITY;
    this.#options.warn('rates, sessions and wrong passwords are counted over all processes again', {});
  }

  #failed(error: unknown): void {
    const { clock, warn, members } = this.#options;
    this.#pausedUntil = clock.now() + PAUSE_MS;
    if (this.#isAlone) return;
    this.#isAlone = true;
    const cause = error instanceof Error ? error.message : String(error);
    const share = members();
    warn('rates, sessions and wrong passwords are counted by this process alone, with its part of each limit', {
      cause,
      ...(share > 1 && { part: `1/${share}` }),
    });
  }

  #shareOf(counters: readonly AttemptCounter[]): readonly AttemptCounter[] {
    return counters.map((counter) => ({ ...counter, most: this.#whole(counter.most) }));
  }

  #partOf(limit: number): number {
    return limit / Math.max(1, this.#options.members());
  }

  #whole(limit: number): number {
    return Math.max(1, Math.floor(this.#partOf(limit)));
  }
}
