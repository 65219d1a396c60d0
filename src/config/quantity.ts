/** Sizes, times and counts as people write them: `4MiB`, `30s`, `256`. A bare number is in the setting's own unit. */

export type Unit = 'bytes' | 'ms' | 'count';

export interface QuantityRange {
  readonly unit: Unit;
  readonly min: number;
  readonly max: number;
}

/** Smallest first: the last one that divides a number is used to print it. */
const suffixes: Readonly<Record<Unit, ReadonlyMap<string, number>>> = {
  bytes: new Map(Object.entries({ B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 })),
  ms: new Map(Object.entries({ ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 })),
  count: new Map(),
};

const written = /^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/;

/**
 * The amount in the unit of the range; undefined if it is not a whole number within the range. Digits may be text,
 * since environment variables are text.
 */
export function readQuantity(value: number | string, range: QuantityRange): number | undefined {
  const match = typeof value === 'number' ? undefined : written.exec(value.trim());
  if (match === null) return undefined;
  const suffix = match?.[2] ?? '';
  const factor = suffix === '' ? 1 : suffixes[range.unit].get(suffix);
  const amount = (typeof value === 'number' ? value : Number(match?.[1])) * (factor ?? Number.NaN);
  return Number.isSafeInteger(amount) && amount >= range.min && amount <= range.max ? amount : undefined;
}

export function writeQuantity(amount: number, unit: Unit): string {
  const [suffix, factor] = [...suffixes[unit]].findLast(([, factor]) => amount > 0 && amount % factor === 0) ?? [];
  if (factor === undefined) return unit === 'ms' ? `${amount} ms` : String(amount);
  return `${amount / factor} ${suffix}`;
}

export function describeRange(range: QuantityRange): string {
  const from = writeQuantity(range.min, range.unit);
  const to = writeQuantity(range.max, range.unit);
  if (range.unit === 'bytes') return `a size from ${from} to ${to}, such as 64KiB or a number of bytes`;
  if (range.unit === 'ms') return `a time from ${from} to ${to}, such as 30s or a number of milliseconds`;
  return `a whole number from ${from} to ${to}`;
}
