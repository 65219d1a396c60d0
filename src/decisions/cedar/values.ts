/** JSON values as Cedar values. What Cedar has no value for is left out, as an attribute that is not there. */
import { isObject } from '../../wire/values.ts';

/** Claims nest at most this deep; what is deeper is left out. */
const DEPTH = 10;
/** Cedar's decimal: a 64-bit integer of ten-thousandths. */
const DECIMAL_MOST = 922_337_203_685_477;
/** A number is at least this exact: below a ten-thousandth, its sixteen digits end long before. */
const EXACT_DIGITS = 40;
/** Members with these names are not data to Cedar: they would make an entity or call a function. */
const ESCAPES: ReadonlySet<string> = new Set(['__entity', '__extn', '__expr']);

/** Half of a surrogate pair becomes another character on the way to Cedar: it would judge another text. */
export function isWellFormed(text: string): boolean {
  return !/\p{Cs}/u.test(text);
}

/** `isDecimal`: policies compare it by the functions of decimals, so that whole numbers are decimals too. */
export function cedarValue(value: unknown, isDecimal = false, depth = 0): unknown {
  if (depth > DEPTH) return undefined;
  if (typeof value === 'string') return isWellFormed(value) ? value : undefined;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return cedarNumber(value, isDecimal);
  if (Array.isArray(value)) return present(value.map((item) => cedarValue(item, isDecimal, depth + 1)));
  if (!isObject(value)) return undefined;
  return record(Object.entries(value), (member) => cedarValue(member, isDecimal, depth + 1));
}

/** The entries that Cedar has values for. */
export function record(
  entries: readonly (readonly [string, unknown])[],
  convert: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  const converted = entries.map(
    ([name, value]) => [name, ESCAPES.has(name) ? undefined : convert(value, name)] as const,
  );
  return Object.fromEntries(converted.filter(([, value]) => value !== undefined));
}

function cedarNumber(value: number, isDecimal: boolean): unknown {
  if (Number.isSafeInteger(value) && !isDecimal) return value;
  if (!Number.isFinite(value) || Math.abs(value) > DECIMAL_MOST) return undefined;
  // Digits after the fourth are cut, not rounded: with so many digits, `toFixed` has none to round that counts.
  const [whole = '0', digits = ''] = value.toFixed(EXACT_DIGITS).split('.');
  return { __extn: { fn: 'decimal', arg: `${whole}.${digits.slice(0, 4)}` } };
}

function present(items: readonly unknown[]): readonly unknown[] {
  return items.filter((item) => item !== undefined);
}
