/** Tests of single arguments. What cannot be judged fails, and a failure never opens anything. */
import { hasOther } from '../wire/fold.ts';
import { isObject } from '../wire/values.ts';
import { NameSet } from './names.ts';
import { agreed, type Outcome } from './outcome.ts';
import { readingsOf, TEXT_LENGTH } from './paths.ts';
import type { ArgumentTest, Scalar } from './rules.ts';

/** More items than a person would put into one call. */
const ITEMS = 1_000;
/** For all items of a list together as many steps as the longest pattern needs for the longest text: some milliseconds. */
const STEPS = 1 << 20;

export type TestArguments = (values: unknown) => Outcome;

export function compileTests(tests: Readonly<Record<string, ArgumentTest>>): TestArguments | undefined {
  const compiled = Object.entries(tests).map(([name, test]) => ({ name, test: compileTest(test) }));
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

/** Undefined: there is no such argument. JSON has no other way to be undefined. */
function compileTest(test: ArgumentTest): (value: unknown) => Outcome {
  const { equals, glob, min, max, minBytes, maxBytes, present } = test;
  const parts: ((value: unknown) => Outcome)[] = [];
  if (equals !== undefined) parts.push(ofEach((value) => isOneOf(value, equals)));
  if (glob !== undefined) {
    const names = new NameSet(glob, 'path');
    const isLike = ofEach((value) => (typeof value === 'string' ? names.hasAll(spelled(value)) : 'failed'));
    parts.push((value) => (isWithinReach(value, names.steps) ? isLike(value) : 'failed'));
  }
  if (min !== undefined || max !== undefined) parts.push(ofEach((value) => isWithin(value, min, max)));
  if (minBytes !== undefined || maxBytes !== undefined) {
    parts.push((value) => within(sizeOf(value), minBytes, maxBytes));
  }
  return (value) => {
    if (value === undefined) return present === false ? 'yes' : 'no';
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

function ofEach(test: (value: unknown) => Outcome): (value: unknown) => Outcome {
  return (value) => {
    if (!Array.isArray(value)) return test(value);
    return value.length > ITEMS ? 'failed' : agreed(value.map(test));
  };
}

/** Of an address there are several; a path is what it is. */
function spelled(text: string): readonly string[] {
  return text.length <= TEXT_LENGTH && ADDRESS.test(text) ? readingsOf(text) : [text];
}

const ADDRESS = /^(?:[a-z][a-z0-9+.-]+:\/\/|file:)/i;

/** Counted before any of it is looked at: the time is gone by the time it is known to be. */
function isWithinReach(value: unknown, stepsForEach: number): boolean {
  if (!Array.isArray(value)) return true;
  let length = 0;
  for (const item of value) if (typeof item === 'string') length += item.length;
  return length * stepsForEach <= STEPS;
}

function isOneOf(value: unknown, wanted: readonly Scalar[]): Outcome {
  if (typeof value === 'object' && value !== null) return 'failed';
  if (isRounded(value)) return 'failed';
  return wanted.some((one) => one === value) ? 'yes' : 'no';
}

function isWithin(value: unknown, min: number | undefined, max: number | undefined): Outcome {
  return typeof value !== 'number' || isRounded(value) ? 'failed' : within(value, min, max);
}

/** Whole numbers beyond this are not what was written any more, and the backend reads what was written. */
function isRounded(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
}

function within(value: number, min: number | undefined, max: number | undefined): Outcome {
  return value >= (min ?? Number.NEGATIVE_INFINITY) && value <= (max ?? Number.POSITIVE_INFINITY) ? 'yes' : 'no';
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));
}
