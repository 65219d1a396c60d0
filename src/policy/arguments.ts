/**
 * Tests of single arguments. An ambiguous value (`failed`) never allows anything: a value of a different type than the
 * rule's, a URI that parsers read differently, a list of which only some items pass.
 */
import { hasOther } from '../wire/fold.ts';
import { isObject } from '../wire/values.ts';
import { readAddress, SCHEME } from './addresses.ts';
import { agreed, NameSet, type RuleOutcome } from './names.ts';
import { TEXT_LENGTH, withAndWithoutSlash } from './paths.ts';
import type { ArgumentTest, Effect, Scalar } from './rules.ts';

/** More items than a person would put into one call. */
const ITEMS = 1_000;
/**
 * For all items of a list together, as many steps as the longest pattern needs for the longest text: some milliseconds.
 */
const STEPS = 1 << 20;

export type TestArguments = (values: unknown) => RuleOutcome;

export function compileTests(tests: Readonly<Record<string, ArgumentTest>>, effect: Effect): TestArguments | undefined {
  const compiled = Object.entries(tests).map(([name, test]) => ({ name, test: compileTest(test, effect) }));
  if (compiled.length === 0) return undefined;
  return (values) => {
    if (!isObject(values)) return 'failed';
    let failed = false;
    for (const { name, test } of compiled) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      const outcome = hasOther(values, name) ? 'failed' : test(value);
      if (outcome === 'no') return 'no';
      if (outcome === 'failed') failed = true;
    }
    return failed ? 'failed' : 'yes';
  };
}

/** `null` counts as absent: most backends do not distinguish the two. */
function compileTest(test: ArgumentTest, effect: Effect): (value: unknown) => RuleOutcome {
  const { equals, glob, min, max, minBytes, maxBytes, present } = test;
  const parts: ((value: unknown) => RuleOutcome)[] = [];
  if (equals !== undefined) parts.push(ofEach((value) => isOneOf(value, equals)));
  if (glob !== undefined) parts.push(isLike(new NameSet(glob, 'path'), effect));
  if (min !== undefined || max !== undefined) parts.push(ofEach((value) => isWithin(value, min, max)));
  if (minBytes !== undefined || maxBytes !== undefined) {
    parts.push((value) => within(sizeOf(value), minBytes, maxBytes));
  }
  const ofAbsent: RuleOutcome =
    present === false || (equals?.includes(null) === true && parts.length === 1) ? 'yes' : 'no';
  return (value) => {
    if (value === undefined || value === null) return ofAbsent;
    if (present === false) return 'no';
    let failed = false;
    for (const part of parts) {
      const outcome = part(value);
      if (outcome === 'no') return 'no';
      if (outcome === 'failed') failed = true;
    }
    return failed ? 'failed' : 'yes';
  };
}

function ofEach(test: (value: unknown) => RuleOutcome): (value: unknown) => RuleOutcome {
  return (value) => {
    if (!Array.isArray(value)) return test(value);
    return value.length > ITEMS ? 'failed' : agreed(value.map(test));
  };
}

function isLike(names: NameSet, effect: Effect): (value: unknown) => RuleOutcome {
  const test = ofEach((value) => {
    if (typeof value !== 'string') return 'failed';
    if (value.length > TEXT_LENGTH) return names.has(value);
    if (!isAddress(value)) return effect === 'allow' ? names.has(value) : names.hasAny(asTextOrAddress(value));
    const address = readAddress(value);
    if (effect === 'allow') return names.hasAll(address.readings, address.isAmbiguous);
    return names.hasAny([...address.readings, ...address.reductions], address.isAmbiguous);
  });
  return (value) => (isWithinReach(value, names.steps) ? test(value) : 'failed');
}

/** Web schemes need no slashes (WHATWG URL, special schemes). */
const ADDRESS = /^(?:[a-z][a-z0-9+.-]+:\/\/|(?:file|https?|wss?|ftp):)/i;
const STRIPPED = /^[\0-\x20]+|[\t\n\r]/g;

function isAddress(text: string): boolean {
  return ADDRESS.test(text) || (text.search(STRIPPED) !== -1 && ADDRESS.test(text.replaceAll(STRIPPED, '')));
}

/** `notes:/a` is an address to some backends. `To do: a` is not, so it is not ambiguous. */
function asTextOrAddress(text: string): readonly string[] {
  const spellings = withAndWithoutSlash(text);
  const stripped = text.replaceAll(STRIPPED, '').trimEnd();
  if (!SCHEME.test(stripped)) return spellings;
  const { readings, reductions } = readAddress(stripped);
  return [...spellings, ...readings, ...reductions];
}

/** Counted before matching begins: afterwards the time would already be spent. */
function isWithinReach(value: unknown, stepsForEach: number): boolean {
  if (!Array.isArray(value)) return true;
  let length = 0;
  for (const item of value) if (typeof item === 'string') length += item.length;
  return length * stepsForEach <= STEPS;
}

/**
 * A value of a type that the rule does not have is ambiguous, and so is one that a lenient reader takes for the rule's.
 */
function isOneOf(value: unknown, wanted: readonly Scalar[]): RuleOutcome {
  if (typeof value === 'object' && value !== null) return 'failed';
  if (isRounded(value)) return 'failed';
  if (wanted.some((one) => one === value)) return 'yes';
  const isOfItsType = wanted.some((one) => typeof one === typeof value);
  return isOfItsType && !wanted.some((one) => typeof one !== typeof value && loosely(one) === loosely(value))
    ? 'no'
    : 'failed';
}

const truths: Readonly<Record<string, number>> = {
  ...{ true: 1, yes: 1, on: 1, y: 1, t: 1 },
  ...{ false: 0, no: 0, off: 0, n: 0, f: 0, '': 0 },
};

/** The value as a reader sees it that converts between texts, numbers and booleans. */
function loosely(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string') return value;
  const text = value.trim().toLowerCase();
  if (Object.hasOwn(truths, text)) return truths[text];
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

function isWithin(value: unknown, min: number | undefined, max: number | undefined): RuleOutcome {
  return typeof value !== 'number' || isRounded(value) ? 'failed' : within(value, min, max);
}

/** Larger integers have lost digits in parsing, and the backend reads the original digits. */
function isRounded(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
}

function within(value: number, min: number | undefined, max: number | undefined): RuleOutcome {
  return value >= (min ?? Number.NEGATIVE_INFINITY) && value <= (max ?? Number.POSITIVE_INFINITY) ? 'yes' : 'no';
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));
}
