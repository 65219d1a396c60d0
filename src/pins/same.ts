/** Whether two values mean the same, whatever their spelling: 1.0 and 1, and the order of what is a set. */
import { isMembers, Numeral, type PinValue } from './value.ts';

export function isSameMeaning(a: PinValue, b: PinValue): boolean {
  if (a === b) return true;
  if (a instanceof Numeral) return b instanceof Numeral && exactNumber(a) === exactNumber(b);
  if (isMembers(a)) {
    if (!isMembers(b) || a.size !== b.size) return false;
    return [...a].every(([key, one]) => {
      const other = b.get(key);
      return other !== undefined && (sets.has(key) ? isSameSet(one, other) : isSameMeaning(one, other));
    });
  }
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((one, at) => isSameMeaning(one, b[at] as PinValue));
}

/** Keywords of a schema whose values have no order. */
const sets: ReadonlySet<string> = new Set(['required', 'enum', 'type']);

function isSameSet(a: PinValue, b: PinValue): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return isSameMeaning(a, b);
  return a.length === b.length && missingIn(a, b).length === 0 && missingIn(b, a).length === 0;
}

/** The elements of the first list that the second one does not have. */
export function missingIn(of: readonly PinValue[], list: readonly PinValue[]): readonly PinValue[] {
  return of.filter((one) => !list.some((other) => isSameMeaning(one, other)));
}

/** Equal for equal numbers of any size: digits without zeros at their ends, and an exponent. */
function exactNumber({ text }: Numeral): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}
