/** Readers for values that came from outside. Each gives the value that was promised or throws a `BadValue` that names it. */
import { BadValue } from './failure.ts';
import { isObject, type JsonObject } from './message.ts';

export function textOf(source: JsonObject, member: string): string {
  const value = source[member];
  if (typeof value !== 'string') throw new BadValue(`"${member}" must be a string`);
  return value;
}

export function textOr(source: JsonObject, member: string, otherwise: string): string {
  return source[member] === undefined ? otherwise : textOf(source, member);
}

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly otherwise?: number;
}

export function integerOf(source: JsonObject, member: string, range: Range): number {
  const value = source[member] === undefined ? range.otherwise : source[member];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < range.min || value > range.max) {
    throw new BadValue(`"${member}" must be an integer from ${range.min} to ${range.max}`);
  }
  return value;
}

export function objectOf(source: JsonObject, member: string): JsonObject {
  const value = source[member];
  if (!isObject(value)) throw new BadValue(`"${member}" must be an object`);
  return value;
}

/** Absent counts as empty. */
export function objectOr(source: JsonObject, member: string): JsonObject {
  return source[member] === undefined ? {} : objectOf(source, member);
}
