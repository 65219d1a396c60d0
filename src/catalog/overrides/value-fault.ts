/**
 * Why a value from the config is not valid where a tool's schema has it. Judges by the keywords that name a type or a
 * bound. Others are left to the backend: patterns among them, because a backend could choose one that takes forever.
 */
import { isObject } from '../../wire/values.ts';

type Schema = Readonly<Record<string, unknown>>;

export function valueFault(schema: unknown, value: unknown): string | undefined {
  if (schema === false) return 'nothing is';
  if (!isObject(schema)) return undefined;
  return typeFault(own(schema, 'type'), value) ?? choiceFault(schema, value) ?? boundFault(schema, value);
}

function typeFault(type: unknown, value: unknown): string | undefined {
  const types = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === 'string');
  if (types.length === 0 || types.some((one) => isOf(one, value))) return undefined;
  return `expected ${types.join(' or ')}`;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function choiceFault(schema: Schema, value: unknown): string | undefined {
  const choices = own(schema, 'enum');
  if (Array.isArray(choices) && !choices.some((one) => isEqual(one, value)))
    return 'it is not one of the values in `enum`';
  return Object.hasOwn(schema, 'const') && !isEqual(schema.const, value) ? 'it is not the value in `const`' : undefined;
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, at) => isEqual(one, b[at]));
  if (!isObject(a) || !isObject(b) || Object.keys(a).length !== Object.keys(b).length) return false;
  return Object.keys(b).every((key) => Object.hasOwn(a, key) && isEqual(a[key], b[key]));
}

function boundFault(schema: Schema, value: unknown): string | undefined {
  if (typeof value === 'number') {
    const [most, least] = [own(schema, 'exclusiveMaximum'), own(schema, 'exclusiveMinimum')];
    const isOut = isOver(value, own(schema, 'maximum')) || isOver(own(schema, 'minimum'), value);
    const isAtEdge = value === most || value === least || isOver(value, most) || isOver(least, value);
    return isOut || isAtEdge ? 'it is out of bounds' : undefined;
  }
  if (typeof value === 'string') return sizeFault([...value].length, schema, 'minLength', 'maxLength');
  if (Array.isArray(value)) {
    const items = own(schema, 'items');
    const fault = value.map((item) => valueFault(items, item)).find((one) => one !== undefined);
    return fault ?? sizeFault(value.length, schema, 'minItems', 'maxItems');
  }
  return isObject(value) ? memberFault(schema, value) : undefined;
}

function memberFault(schema: Schema, value: Schema): string | undefined {
  const required = own(schema, 'required');
  const missing =
    Array.isArray(required) && required.find((one) => typeof one === 'string' && !Object.hasOwn(value, one));
  if (typeof missing === 'string') return `\`${missing}\` is missing`;
  const properties = own(schema, 'properties');
  if (!isObject(properties)) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const fault = valueFault(own(properties, key), item);
    if (fault !== undefined) return `\`${key}\`: ${fault}`;
  }
  return undefined;
}

function sizeFault(size: number, schema: Schema, least: string, most: string): string | undefined {
  return isOver(size, own(schema, most)) || isOver(own(schema, least), size)
    ? 'it is too short or too long'
    : undefined;
}

function isOver(value: unknown, bound: unknown): boolean {
  return typeof value === 'number' && typeof bound === 'number' && value > bound;
}

function own(object: Schema, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
