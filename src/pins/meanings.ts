/** Whether values mean the same, whatever their spelling: 1.0 and 1, and the order of what is a set. */
import { isMembers, Numeral, type PinValue } from './value.ts';

/** Keywords of a schema whose values have no order. */
const sets: ReadonlySet<string> = new Set(['required', 'enum', 'type']);

/**
 * Gives each meaning a number. A container is described by the numbers of its parts, and only once, so that comparing
 * at every level of two values costs no more than reading them.
 */
export class Meanings {
  readonly #numbers = new Map<string, number>();
  readonly #known = new Map<PinValue, number>();

  isSame(a: PinValue, b: PinValue): boolean {
    return this.#of(a) === this.#of(b);
  }

  /** Whether the first list has an element that the second one lacks. */
  hasMore(list: readonly PinValue[], than: readonly PinValue[]): boolean {
    const known = new Set(than.map((one) => this.#of(one)));
    return list.some((one) => !known.has(this.#of(one)));
  }

  #of(value: PinValue): number {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const number = this.#numberOf(this.#describe(value));
    this.#known.set(value, number);
    return number;
  }

  #numberOf(description: string): number {
    const known = this.#numbers.get(description);
    if (known !== undefined) return known;
    this.#numbers.set(description, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  #describe(value: PinValue): string {
    if (value instanceof Numeral) return exactNumber(value);
    if (isMembers(value)) return `{${[...value].map(([key, one]) => this.#describeMember(key, one)).join()}}`;
    if (Array.isArray(value)) return `[${value.map((one) => this.#of(one)).join()}]`;
    return JSON.stringify(value);
  }

  #describeMember(key: string, value: PinValue): string {
    const isSet = sets.has(key) && Array.isArray(value);
    const elements = isSet ? [...new Set(value.map((one) => this.#of(one)))].sort((a, b) => a - b) : undefined;
    return `${JSON.stringify(key)}:${elements === undefined ? this.#of(value) : `<${elements.join()}>`}`;
  }
}

export function isSameMeaning(a: PinValue, b: PinValue): boolean {
  return new Meanings().isSame(a, b);
}

/** Larger exponents are not calculated with: such numbers are the same only if they are spelled the same. */
const EXPONENT_DIGITS = 12;

/** Equal for equal numbers of any size: digits without zeros at their ends, and an exponent. */
function exactNumber({ text }: Numeral): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return '0';
  if (exponent.length > EXPONENT_DIGITS) return text;
  // Not by a pattern such as /0+$/, which tries again at each of the zeros inside.
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
