/**
 * Tokens of buckets that several processes share. A process takes them in lots and spends a lot without asking, so all
 * processes together exceed a rate by one lot each at the most.
 */
import type { Bucket, SharedCounts } from '../store/counts.ts';

/** Tokens that this process has of one bucket. */
export interface Lot {
  tokens: number;
  /** Requests that wait for tokens. */
  waiting: number;
  /** When the bucket has a token again, as far as it is known. */
  emptyUntil: number;
  /** The bucket is not asked for before. */
  askAt: number;
  taking: Promise<void> | undefined;
}

/** A lot is what the rate brings in a tenth of a second, and a tenth of a burst at the most. */
const LOTS = 10;
/** Between two questions about an empty bucket: a flood of requests must not become a flood of questions. */
const PAUSE_MS = 10;
/** An empty bucket may have tokens earlier: by another config, or where a store can be reached again. */
const AGAIN_MS = 1_000;

export type TokenSource = Pick<SharedCounts, 'take'>;

export function lotOf({ perSecond, capacity }: Bucket): number {
  return Math.max(1, Math.floor(Math.min(perSecond, capacity) / LOTS));
}

export function newLot(): Lot {
  return { tokens: 0, waiting: 0, emptyUntil: 0, askAt: Number.NEGATIVE_INFINITY, taking: undefined };
}

export class Lots {
  readonly #source: TokenSource;
  readonly #now: () => number;

  constructor(source: TokenSource, now: () => number) {
    this.#source = source;
    this.#now = now;
  }

  /** Whether the other processes have to be asked before a request can be counted. */
  lacks(lot: Lot): boolean {
    return lot.tokens < 1 && this.#now() >= lot.askAt;
  }

  /** Resolves when the lot has tokens, or is known to have none. Requests that wait are served by one question. */
  fetch(key: string, lot: Lot, bucket: Bucket): Promise<void> {
    lot.taking ??= this.#take(key, lot, bucket).finally(() => {
      lot.taking = undefined;
    });
    return lot.taking;
  }

  async #take(key: string, lot: Lot, bucket: Bucket): Promise<void> {
    const wanted = Math.max(lotOf(bucket), lot.waiting);
    const { tokens, waitMs } = await this.#source.take(key, bucket, wanted);
    lot.tokens += tokens;
    if (tokens === wanted) return;
    const pause = Math.max(waitMs, PAUSE_MS);
    lot.emptyUntil = this.#now() + pause;
    lot.askAt = this.#now() + Math.min(pause, AGAIN_MS);
  }
}
