/**
 * The attributes that policies read, with the types that their use implies. Cedar has no type for "any value", and a
 * schema has to declare the arguments and claims that only the policies name.
 */
import type { TypeVariant } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from '../../wire/values.ts';

export type CedarType = TypeVariant<string>;

export const variables = ['principal', 'resource', 'context'] as const;
export type Variable = (typeof variables)[number];
export type Attributes = ReadonlyMap<Variable, ReadonlyMap<string, CedarType>>;

const text: CedarType = { type: 'String' };
const long: CedarType = { type: 'Long' };
const flag: CedarType = { type: 'Boolean' };
export const decimal: CedarType = { type: 'Extension', name: 'decimal' };
const setOf = (element: CedarType): CedarType => ({ type: 'Set', element });

const comparisons: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '+', '-', '*']);
const equalities: ReadonlySet<string> = new Set(['==', '!=']);
const logical: ReadonlySet<string> = new Set(['&&', '||', '!']);
const decimals: ReadonlySet<string> = new Set([
  ...['lessThan', 'lessThanOrEqual', 'greaterThan', 'greaterThanOrEqual'],
]);

/** `conditions`: of policies in Cedar's JSON form. */
export function attributesIn(conditions: readonly unknown[]): Attributes {
  const found = new Map(variables.map((variable) => [variable, new Map<string, CedarType>()]));
  for (const condition of conditions) visit(condition, flag, found);
  return found;
}

type FoundAttributes = ReadonlyMap<Variable, Map<string, CedarType>>;

/** `type`: what the place of the expression implies. */
function visit(node: unknown, type: CedarType, found: FoundAttributes): void {
  if (Array.isArray(node)) for (const item of node) visit(item, type, found);
  if (!isObject(node)) return;
  for (const [operator, operands] of Object.entries(node)) {
    if (operator === '.') noteAccess(operands, type, found);
    else if (isObject(operands) && 'left' in operands) visitPair(operator, operands, found);
    else visit(operands, decimals.has(operator) ? decimal : logical.has(operator) ? flag : text, found);
  }
}

function visitPair(operator: string, { left, right }: Record<string, unknown>, found: FoundAttributes): void {
  const [ofLeft, ofRight] = typesOf(operator, left, right);
  visit(left, ofLeft, found);
  visit(right, ofRight, found);
}

function typesOf(operator: string, left: unknown, right: unknown): readonly [CedarType, CedarType] {
  if (comparisons.has(operator)) return [long, long];
  if (logical.has(operator)) return [flag, flag];
  if (equalities.has(operator)) return [literalType(right) ?? text, literalType(left) ?? text];
  if (operator === 'contains') return [setOf(literalType(right) ?? text), elementType(left) ?? text];
  if (operator.startsWith('contains')) return [setOf(text), setOf(text)];
  return [text, text];
}

function noteAccess(operands: unknown, type: CedarType, found: FoundAttributes): void {
  if (!isObject(operands) || typeof operands.attr !== 'string') return;
  const { left, attr } = operands;
  const attributes = isObject(left) && typeof left.Var === 'string' ? found.get(left.Var as Variable) : undefined;
  // The first use decides; the validator finds a second use that contradicts it.
  if (attributes === undefined) visit(left, { type: 'Record', attributes: { [attr]: type } }, found);
  else attributes.set(attr, merged(attributes.get(attr), type));
}

/** Two members of the same record may be read. */
function merged(known: CedarType | undefined, next: CedarType): CedarType {
  if (known === undefined) return next;
  if (known.type !== 'Record' || next.type !== 'Record') return known;
  return { type: 'Record', attributes: { ...next.attributes, ...known.attributes } };
}

function literalType(node: unknown): CedarType | undefined {
  if (!isObject(node)) return undefined;
  if ('decimal' in node) return decimal;
  if ('Set' in node) return setOf(elementType(node) ?? text);
  switch (typeof node.Value) {
    case 'string':
      return text;
    case 'number':
      return long;
    case 'boolean':
      return flag;
    default:
      return undefined;
  }
}

function elementType(node: unknown): CedarType | undefined {
  return isObject(node) && Array.isArray(node.Set) ? literalType(node.Set[0]) : undefined;
}
