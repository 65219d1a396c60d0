/**
 * The values of one family, in one typed array: a series is a row of it, found once and then known by its index.
 * Recording changes numbers in place. The number of series is bounded; further ones are counted together.
 */
import type { MetricFamily } from './families.ts';

/** The label value for everything that is in no table of ours, and for what does not fit any more. */
export const OTHER = '_OTHER';

/** A gateway with 50 tools and ten kinds of errors has some 500. Each costs about 300 bytes. */
const MOST_SERIES = 2_000;

export class Series {
  readonly family: MetricFamily;
  /** The labels of each series as the text format writes them: `a="b",c="d"`, without those that are empty. */
  readonly labels: string[] = [];
  /** How many series were asked for beyond the bound. */
  overflowed = 0;
  protected values: Float64Array;
  readonly #stride: number;
  readonly #most: number;
  readonly #byLabels = new Map<string, number>();

  constructor(family: MetricFamily, most = MOST_SERIES) {
    this.family = family;
    this.#most = most;
    // A histogram has its buckets, infinity among them, and its sum.
    this.#stride = family.bounds === undefined ? 1 : family.bounds.length + 2;
    this.values = new Float64Array(this.#stride * 8);
  }

  /** The index of the series with these label values, in the order of the family's labels. An empty one is left out. */
  of(...values: readonly string[]): number {
    const text = this.#text(values);
    const known = this.#byLabels.get(text);
    if (known !== undefined) return known;
    if (this.labels.length < this.#most) return this.#add(text);
    this.overflowed += 1;
    const others = this.#text(this.family.labels.map(() => OTHER));
    return this.#byLabels.get(others) ?? this.#add(others);
  }

  add(series: number, by = 1): void {
    this.values[series] = (this.values[series] as number) + by;
  }

  set(series: number, value: number): void {
    this.values[series] = value;
  }

  /** A time in whole microseconds: V8 passes a whole number to a function without an allocation, others not always. */
  observe(series: number, us: number): void {
    const { values } = this;
    const value = us / 1_000_000;
    const bounds = this.family.bounds as readonly number[];
    const start = series * this.#stride;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    values[start + bucket] = (values[start + bucket] as number) + 1;
    const sum = start + bounds.length + 1;
    values[sum] = (values[sum] as number) + value;
  }

  /** The numbers of a series: its value, or its buckets and its sum. */
  row(series: number): Float64Array {
    return this.values.subarray(series * this.#stride, (series + 1) * this.#stride);
  }

  #add(text: string): number {
    const index = this.labels.push(text) - 1;
    this.#byLabels.set(text, index);
    if ((index + 1) * this.#stride > this.values.length) {
      const larger = new Float64Array(this.values.length * 2);
      larger.set(this.values);
      this.values = larger;
    }
    return index;
  }

  #text(values: readonly string[]): string {
    const pairs = this.family.labels.flatMap((name, at) => {
      const value = values[at] ?? '';
      return value === '' ? [] : [`${name}="${escaped(value)}"`];
    });
    return pairs.join(',');
  }
}

export function wholeMicroseconds(ms: number): number {
  return Math.round(ms * 1_000);
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
