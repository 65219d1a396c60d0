/** What an expression requires to be true: string comparisons of facts that are joined by `&&`. */
import type { ASTNode } from '@marcbachmann/cel-js';
import { type FactName, factNames, type Need, needMembers } from '../policy/rules.ts';

/** `a && b` is false if either side is, even if the other cannot be evaluated (CEL, logical operators). */
export function needsOf(node: ASTNode): readonly Need[] {
  const { op } = node;
  const [left, right] = Array.isArray(node.args) ? (node.args as readonly unknown[]) : [];
  if (!isNode(left) || !isNode(right)) return [];
  if (op === '&&') return [...needsOf(left), ...needsOf(right)];
  if (op !== '==') return [];
  const need = needIn(left, right) ?? needIn(right, left);
  return need === undefined ? [] : [need];
}

function needIn(what: ASTNode, other: ASTNode): Need | undefined {
  const value: unknown = other.op === 'value' ? other.args : undefined;
  if (typeof value !== 'string') return undefined;
  if (what.op === 'id') {
    const fact = textFacts.find((name) => name === what.args);
    return fact && { fact, value };
  }
  if (what.op !== '.' || !Array.isArray(what.args)) return undefined;
  const [of, name] = what.args as readonly unknown[];
  const member = needMembers.find((one) => one === name);
  if (!isNode(of) || of.op !== 'id' || of.args !== 'principal' || member === undefined) return undefined;
  return { fact: 'principal', member, value };
}

const structured: readonly FactName[] = ['principal', 'arguments', 'annotations'];
const textFacts = factNames.filter((name): name is Exclude<Need['fact'], 'principal'> => !structured.includes(name));

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value;
}
