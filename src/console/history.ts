/** Calls per minute over the last hours: how many, how many failed, and how long they took. Of a fixed size. */

/** As long as a person looks back at an incident of the same day. 55 KB for each series. */
export const HISTORY_MINUTES = 6 * 60;
export const MINUTE_MS = 60_000;
/** Durations up to 90 s, in steps of half an octave: a quantile is right to within a fifth. The last one is open. */
const BUCKETS = 36;
const FIRST_MS = 0.5;

/** One minute of a series. Quantiles are absent where there was no call. */
export interface HistoryPoint {
  /** The beginning of the minute, in milliseconds since 1970. */
  readonly at: number;
  readonly calls: number;
  readonly errors: number;
  readonly p50?: number;
  readonly p95?: number;
  readonly p99?: number;
}

export class History {
  /** The minute since 1970 that each slot holds: a slot with an older one is empty. */
  readonly #minutes = new Int32Array(HISTORY_MINUTES);
  readonly #calls = new Uint32Array(HISTORY_MINUTES);
  readonly #errors = new Uint32Array(HISTORY_MINUTES);
  readonly #buckets = new Uint32Array(HISTORY_MINUTES * BUCKETS);

  /** `now`: milliseconds since 1970. */
  record(now: number, ms: number, failed: boolean): void {
    const slot = this.#slotAt(Math.floor(now / MINUTE_MS));
    this.#calls[slot]! += 1;
    if (failed) this.#errors[slot]! += 1;
    this.#buckets[slot * BUCKETS + bucketOf(ms)]! += 1;
  }

  /** Calls a second: of the minute that runs, and of as much of the one before as makes a whole minute. */
  rate(now: number): number {
    const minute = Math.floor(now / MINUTE_MS);
    const left = 1 - (now % MINUTE_MS) / MINUTE_MS;
    return (this.#countIn(minute) + this.#countIn(minute - 1) * left) / 60;
  }

  /** The last minutes, oldest first, the running one included. */
  points(now: number, minutes: number): readonly HistoryPoint[] {
    const last = Math.floor(now / MINUTE_MS);
    const wanted = Math.min(minutes, HISTORY_MINUTES);
    return Array.from({ length: wanted }, (_, at) => this.#pointOf(last - wanted + 1 + at));
  }

  #slotAt(minute: number): number {
    const slot = minute % HISTORY_MINUTES;
    if (this.#minutes[slot] === minute) return slot;
    this.#minutes[slot] = minute;
    this.#calls[slot] = 0;
    this.#errors[slot] = 0;
    this.#buckets.fill(0, slot * BUCKETS, (slot + 1) * BUCKETS);
    return slot;
  }

  #countIn(minute: number): number {
    const slot = minute % HISTORY_MINUTES;
    return this.#minutes[slot] === minute ? this.#calls[slot]! : 0;
  }

  #pointOf(minute: number): HistoryPoint {
    const at = minute * MINUTE_MS;
    const calls = this.#countIn(minute);
    if (calls === 0) return { at, calls, errors: 0 };
    const slot = minute % HISTORY_MINUTES;
    const buckets = this.#buckets.subarray(slot * BUCKETS, (slot + 1) * BUCKETS);
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(buckets, calls * share));
    return { at, calls, errors: this.#errors[slot]!, p50: p50!, p95: p95!, p99: p99! };
  }
}

function bucketOf(ms: number): number {
  return ms <= FIRST_MS ? 0 : Math.min(BUCKETS - 1, Math.ceil(2 * Math.log2(ms / FIRST_MS)));
}

function boundOf(bucket: number): number {
  return bucket < 0 ? 0 : FIRST_MS * 2 ** (bucket / 2);
}

/** Between the bounds of the bucket that has the call of this rank, as if its calls were spread evenly. */
function quantile(buckets: Uint32Array, rank: number): number {
  let before = 0;
  for (let bucket = 0; bucket < buckets.length; bucket++) {
    const here = buckets[bucket]!;
    if (before + here >= rank && here > 0) {
      const [low, high] = [boundOf(bucket - 1), boundOf(bucket)];
      return rounded(low + ((high - low) * (rank - before)) / here);
    }
    before += here;
  }
  return rounded(boundOf(buckets.length - 1));
}

function rounded(ms: number): number {
  return ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms);
}
