/**
 * Whether a value is a JSON Schema, by the forms that keywords have in 2020-12 and draft-07. References are not
 * followed, and unknown keywords are allowed, as the dialects allow them.
 */
import { isObject } from '../wire/values.ts';

const typeNames: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

type KeywordForm = (value: unknown) => boolean;

const isText: KeywordForm = (value) => typeof value === 'string';
const isTexts: KeywordForm = (value) => Array.isArray(value) && value.every(isText);
const isCount: KeywordForm = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isNumber: KeywordForm = (value) => typeof value === 'number';
const isBoolean: KeywordForm = (value) => typeof value === 'boolean';
const isType: KeywordForm = (value) =>
  Array.isArray(value) ? value.every((one) => typeNames.has(one)) : typeNames.has(value);
const isPattern: KeywordForm = (value) => {
  if (typeof value !== 'string') return false;
  try {
    return new RegExp(value, 'u') instanceof RegExp;
  } catch {
    return false;
  }
};

/** Keywords by the form of their value. */
const forms: ReadonlyMap<string, KeywordForm> = new Map<string, KeywordForm>([
  ...['$id', '$schema', '$ref', '$anchor', '$comment', 'title', 'description', 'format'].map(
    (k) => [k, isText] as const,
  ),
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map(
    (k) => [k, isCount] as const,
  ),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].map((k) => [k, isNumber] as const),
  ...['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'].map((k) => [k, isBoolean] as const),
  ['type', isType],
  ['enum', Array.isArray],
  ['required', isTexts],
  ['pattern', isPattern],
]);

const oneSchema = ['additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames', 'then'];
const schemaLists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const schemaMaps = ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'];

/** Deeper schemas are not read: no tool has them, and a server must not exhaust our stack. */
const DEPTH = 64;

/** What is wrong, with its place. Undefined where the schema is valid. */
export function schemaFault(schema: unknown, place = '#', depth = 0): string | undefined {
  if (typeof schema === 'boolean' || depth > DEPTH) return undefined;
  if (!isObject(schema)) return `${place} is no schema`;
  for (const [keyword, value] of Object.entries(schema)) {
    const here = `${place}/${keyword}`;
    if (forms.get(keyword)?.(value) === false) return `${here} has a value that the keyword does not allow`;
    const fault = subschemas(keyword, value, here, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function subschemas(keyword: string, value: unknown, place: string, depth: number): string | undefined {
  // `items` is one schema in 2020-12, and may be a list in draft-07.
  if (oneSchema.includes(keyword) || (keyword === 'items' && !Array.isArray(value)))
    return schemaFault(value, place, depth);
  const isList = schemaLists.includes(keyword) || keyword === 'items';
  const isMap = schemaMaps.includes(keyword);
  if (!isList && !isMap) return undefined;
  if (isList ? !Array.isArray(value) || value.length === 0 : !isObject(value)) return `${place} holds no schemas`;
  for (const [key, schema] of Object.entries(value as object)) {
    const fault = schemaFault(schema, `${place}/${key}`, depth);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
