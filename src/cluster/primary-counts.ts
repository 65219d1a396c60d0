/** Counts that the workers of one machine share: the primary process has them, and workers ask it. */
import type { AttemptCounter, Bucket, SharedCounts, SlotRequest, TakenTokens } from '../store/counts.ts';
import { MemoryCounts } from './memory-counts.ts';

export interface CountQuestion {
  readonly operation: keyof SharedCounts;
  readonly with: readonly unknown[];
}

/** Rejects where there is no answer. */
export type AskPrimary = (question: CountQuestion) => Promise<unknown>;

/** In a worker. */
export class CountsAtPrimary implements SharedCounts {
  readonly #ask: AskPrimary;

  constructor(ask: AskPrimary) {
    this.#ask = ask;
  }

  take(key: string, bucket: Bucket, most: number): Promise<TakenTokens> {
    return this.#ask({ operation: 'take', with: [key, bucket, most] }) as Promise<TakenTokens>;
  }

  hold(key: string, request: SlotRequest): Promise<number> {
    return this.#ask({ operation: 'hold', with: [key, request] }) as Promise<number>;
  }

  attempt(counters: readonly AttemptCounter[]): Promise<number> {
    return this.#ask({ operation: 'attempt', with: [counters] }) as Promise<number>;
  }

  async takeBack(counters: readonly AttemptCounter[], forgotten: readonly AttemptCounter[] = []): Promise<void> {
    await this.#ask({ operation: 'takeBack', with: [counters, forgotten] });
  }
}

/** In the primary process. */
export class PrimaryCounts {
  readonly #counts: MemoryCounts;

  /** `now`: in milliseconds. */
  constructor(now: () => number) {
    this.#counts = new MemoryCounts(now);
  }

  answer(member: string, { operation, with: args }: CountQuestion): Promise<unknown> {
    const counts = this.#counts.of(member);
    const counting = counts[operation] as (...given: readonly unknown[]) => Promise<unknown>;
    return counting.apply(counts, [...args]);
  }

  /** The worker has ended: its slots are free. */
  forget(member: string): void {
    this.#counts.forget(member);
  }
}
