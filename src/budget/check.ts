/**
 * Checks a call's arguments against a tool's schema, for callers that were listed the tool without it. Loaded only
 * where a budget is configured.
 */
import { Validator } from '@cfworker/json-schema';
import type { Span } from '../wire/message.ts';
import { hasMoreThan, isObject, valueAt } from '../wire/values.ts';
import { type PreparedSchema, plain, prepareSchema } from './schema.ts';

/** Larger arguments are content, such as a file: the backend checks them. */
const MOST_VALUES = 4_096;
const MOST_ARGUMENT_BYTES = 1024 * 1024;
const MOST_SCHEMA_BYTES = 256 * 1024;
/** What is wrong is told in so many sentences. */
const MOST_PROBLEMS = 5;
const PROBLEM = 300;

interface Checker {
  readonly validator: Validator;
  readonly prepared: PreparedSchema;
}

/** By the listed entry. Undefined: its schema cannot be used. */
const known = new WeakMap<Uint8Array, { readonly checker: Checker | undefined; readonly inputSchema: unknown }>();

export interface WrongArguments {
  readonly problems: readonly string[];
  readonly inputSchema: unknown;
}

/** Undefined where the arguments are right, and where they cannot be checked. Never throws. */
export function wrongArguments(
  entry: Uint8Array,
  given: { readonly bytes: Uint8Array; readonly span: Span } | undefined,
): WrongArguments | undefined {
  const { checker, inputSchema } = checkerOf(entry);
  if (checker === undefined) return undefined;
  if (given !== undefined) {
    const { bytes, span } = given;
    if (span.end - span.start > MOST_ARGUMENT_BYTES || hasMoreThan(MOST_VALUES, bytes, span)) return undefined;
  }
  const value = given === undefined ? {} : valueAt(given.bytes, given.span);
  const problems = problemsOf(checker, plain(value));
  return problems.length === 0 ? undefined : { problems, inputSchema };
}

function checkerOf(entry: Uint8Array) {
  const existing = known.get(entry);
  if (existing !== undefined) return existing;
  const value = valueAt(entry, { start: 0, end: entry.byteLength });
  const inputSchema = isObject(value) ? value.inputSchema : undefined;
  const made = { checker: entry.byteLength > MOST_SCHEMA_BYTES ? undefined : newChecker(inputSchema), inputSchema };
  known.set(entry, made);
  return made;
}

function newChecker(inputSchema: unknown): Checker | undefined {
  try {
    const prepared = prepareSchema(inputSchema);
    return { validator: new Validator(prepared.schema, '2020-12', false), prepared };
  } catch {
    return undefined;
  }
}

function problemsOf({ validator, prepared }: Checker, value: unknown): readonly string[] {
  try {
    prepared.begin(countOf(value));
    const { valid, errors } = validator.validate(value);
    if (valid) return [];
    const told = errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`.slice(0, PROBLEM));
    return told.slice(-MOST_PROBLEMS);
  } catch {
    // It costs too much, or a reference leads nowhere.
    return [];
  }
}

function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + countOf(one), 1);
  return isObject(value) ? Object.values(value).reduce((sum: number, one) => sum + countOf(one), 1) : 1;
}
