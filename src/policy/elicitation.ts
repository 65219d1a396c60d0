/**
 * Forms that every client can show: flat objects of primitives.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema
 */
import { isObject } from '../wire/values.ts';

const primitives: readonly unknown[] = ['string', 'number', 'integer', 'boolean'];

/** Why the form is not flat; undefined if it is, or if the elicitation has a URL instead of a form. */
export function notFlat(params: unknown): string | undefined {
  if (!isObject(params)) return 'An elicitation has an object of parameters';
  if (params.mode === 'url') return undefined;
  const { requestedSchema: schema } = params;
  if (!isObject(schema) || schema.type !== 'object' || !isObject(schema.properties)) {
    return 'requestedSchema is an object with properties';
  }
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isPrimitive(property) && !isChoiceOfSeveral(property)) return `${name} is no primitive`;
  }
  return undefined;
}

function isPrimitive(property: unknown): boolean {
  if (!isObject(property) || !primitives.includes(property.type)) return false;
  return !['properties', 'items', '$ref', 'allOf', 'anyOf'].some((word) => Object.hasOwn(property, word));
}

/** Since 2025-11-25, several entries of a list of texts can be chosen. */
function isChoiceOfSeveral(property: unknown): boolean {
  if (!isObject(property) || property.type !== 'array' || !isObject(property.items)) return false;
  const { items } = property;
  if (Array.isArray(items.enum)) return items.type === 'string' && items.enum.every((one) => typeof one === 'string');
  const choices = items.anyOf;
  return Array.isArray(choices) && choices.every((one) => isObject(one) && typeof one.const === 'string');
}
