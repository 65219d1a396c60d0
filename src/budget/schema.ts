/**
 * Prepares a tool's input schema for checking arguments. Backends write schemas, so nothing in them may cost more than
 * it is worth: references lead only within the schema, expressions are not run, and every visit of a part of the schema
 * is counted.
 *
 * `pattern`, `patternProperties`, `format`, `multipleOf` and `uniqueItems` are left out, which only makes a schema
 * accept more: the backend checks its arguments anyway. Where accepting more in one place means accepting less as a
 * whole (below `not`, `if`, `oneOf` or `contains`), the schema cannot be used.
 */
import type { Schema } from '@cfworker/json-schema';
import { isObject } from '../wire/values.ts';

/** Parts of a schema. The largest schemas of real servers have a few hundred. */
const MOST_PARTS = 5_000;
const DEEPEST = 64;
/** What one check may cost together: parts that are visited, with their lists, and with the values they look at. */
const MOST_WORK = 1_000_000;

/** Each holds one schema, a list of schemas, or a map of schemas. */
const holdOne = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
]);
const holdList = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']);
const holdMap = new Set(['$defs', 'definitions', 'dependentSchemas', 'properties']);
/** Checked as they are, where they have the form that the specification gives them. */
const numbers = new Set([
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxContains',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minContains',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
]);
/** Not checked. */
const loosened = new Set(['format', 'multipleOf', 'pattern', 'patternProperties', 'uniqueItems']);
/** Say nothing about validity, or nothing that is checked. */
const unchecked = new Set(['$anchor', '$comment', '$schema', 'contentEncoding', 'contentMediaType', 'contentSchema']);
/** Change what references mean, have a meaning that depends on the draft, or on what is left out. */
const refused = new Set([
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveAnchor',
  '$recursiveRef',
  'dependencies',
  'dependentRequired',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
/** Below these, accepting more is accepting less. */
const strict = new Set(['contains', 'if', 'not', 'oneOf']);
/** A text costs as much as one value for each of these characters: messages quote it. */
const CHARACTERS = 16;

/** Thrown where a schema cannot be used, or a check costs too much. */
export class UnusableSchema extends Error {}

export interface PreparedSchema {
  readonly schema: Schema;
  /** Begins a check of a value with this many values in it. */
  begin(values: number): void;
}

/** Throws `UnusableSchema`. */
export function prepareSchema(given: unknown): PreparedSchema {
  if (!isObject(given)) throw new UnusableSchema('the schema is no object');
  const preparation = new Preparation();
  const schema = preparation.part(given, 0, false) as Schema;
  preparation.checkReferences();
  return { schema, begin: (values) => preparation.begin(values) };
}

class Preparation {
  #parts = 0;
  #work = 0;
  #values = 0;
  /** References to parts below `definitions` that a strict place may use are not told apart from others. */
  #hasLoosened = false;
  #hasStrictReference = false;

  begin(values: number): void {
    this.#work = 0;
    this.#values = values;
  }

  checkReferences(): void {
    if (this.#hasLoosened && this.#hasStrictReference)
      throw new UnusableSchema('a reference leads from a strict place to what is not checked');
  }

  part(given: unknown, depth: number, isStrict: boolean): Schema | boolean {
    if (typeof given === 'boolean') return given;
    if (!isObject(given)) throw new UnusableSchema('a part of the schema is neither an object nor a boolean');
    if (++this.#parts > MOST_PARTS || depth > DEEPEST) throw new UnusableSchema('the schema is too large');
    const made: Record<string, unknown> = Object.create(null);
    let weight = 1;
    const hasPatterns = Object.hasOwn(given, 'patternProperties');
    for (const [key, value] of Object.entries(given)) {
      const kept = this.#keyword(key, value, depth, isStrict, hasPatterns);
      if (kept === undefined) continue;
      made[key] = kept;
      weight += weightOf(key, kept);
    }
    this.#count(made, weight);
    return made as Schema;
  }

  #keyword(key: string, value: unknown, depth: number, isStrict: boolean, hasPatterns: boolean): unknown {
    if (refused.has(key)) throw new UnusableSchema(`the schema has \`${key}\``);
    // A second base would change where references lead.
    if (key === '$id' && depth > 0) throw new UnusableSchema('a part of the schema has an `$id`');
    if (key === '$ref') return this.#reference(value, isStrict);
    if (loosened.has(key) || (hasPatterns && key === 'additionalProperties')) {
      if (isStrict) throw new UnusableSchema(`the schema has \`${key}\` below a strict place`);
      this.#hasLoosened = true;
      return undefined;
    }
    if (unchecked.has(key)) return undefined;
    if (numbers.has(key)) return typeof value === 'number' ? value : fail(key);
    if (key === 'type') return isStrings(value) || typeof value === 'string' ? value : fail(key);
    if (key === 'required') return isStrings(value) ? value : fail(key);
    if (key === 'enum') return Array.isArray(value) ? value.map(plain) : fail(key);
    if (key === 'const') return plain(value);
    const below = isStrict || strict.has(key);
    if (holdList.has(key) && Array.isArray(value)) return value.map((one) => this.part(one, depth + 1, below));
    if (holdOne.has(key)) return this.part(value, depth + 1, below);
    if (holdMap.has(key)) return this.#map(value, depth, below);
    // Titles, descriptions, defaults, examples, and what others have added.
    return undefined;
  }

  #map(value: unknown, depth: number, isStrict: boolean): unknown {
    if (!isObject(value)) throw new UnusableSchema('a map of schemas is no object');
    const made: Record<string, unknown> = Object.create(null);
    for (const [key, one] of Object.entries(value)) made[key] = this.part(one, depth + 1, isStrict);
    return made;
  }

  #reference(value: unknown, isStrict: boolean): string {
    if (typeof value !== 'string' || !/^#(?:\/|$)/.test(value))
      throw new UnusableSchema('a reference leads out of the schema, or to an anchor');
    this.#hasStrictReference ||= isStrict;
    return value;
  }

  /** The validator reads every keyword of a part once at each visit, so reading this one counts the visit. */
  #count(part: Record<string, unknown>, weight: number): void {
    const { type } = part;
    Object.defineProperty(part, 'type', {
      enumerable: true,
      get: () => {
        this.#work += weight + this.#values;
        if (this.#work > MOST_WORK) throw new UnusableSchema('checking the arguments costs too much');
        return type;
      },
    });
  }
}

function weightOf(key: string, kept: unknown): number {
  if (key === 'enum' || key === 'const') return Math.ceil(JSON.stringify(kept).length / CHARACTERS);
  return isObject(kept) || Array.isArray(kept) ? Object.keys(kept).length : 0;
}

function fail(key: string): never {
  throw new UnusableSchema(`\`${key}\` does not have the form of JSON Schema, or is not checked`);
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** Without a prototype: no name of an object's own methods is taken for a member. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  const made: Record<string, unknown> = Object.create(null);
  for (const [key, one] of Object.entries(value)) made[key] = plain(one);
  return made;
}
