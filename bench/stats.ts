/** Medians, because a noisy machine makes outliers in one direction only. */

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const index = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return sorted[index] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] as number;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/**
 * Of values that belong together pair by pair. The speed of a shared machine changes by a factor of two within seconds:
 * the two of a pair were measured right after each other, and see the same machine.
 */
export function ratioOfPairs(values: readonly number[], against: readonly number[]): Spread {
  return spread(values.map((value, at) => value / (against[at] ?? Number.NaN)));
}

export function differenceOfPairs(values: readonly number[], against: readonly number[]): Spread {
  return spread(values.map((value, at) => value - (against[at] ?? Number.NaN)));
}
