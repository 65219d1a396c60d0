/** What an expression reads of `arguments`, and what it requires to be true. */
import type { ASTNode } from '@marcbachmann/cel-js';
import { type ArgumentPath, type ArgumentsRead, type Need, needMembers, textFacts } from '../policy/rules.ts';

type Steps = ArgumentPath['steps'];

/** The paths of `arguments` that an expression names, and every string that could be the name of a member. */
export function argumentsReadBy(ast: ASTNode): ArgumentsRead {
  const paths: ArgumentPath[] = [];
  const names = new Set<string>();
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) part.forEach(visit);
    else if (isNode(part)) {
      const path = testedBy(part) ?? pathTo(part);
      if (path !== undefined) {
        paths.push(path);
        return;
      }
      const [, member] = argsOf(part);
      if (part.op === '.' && typeof member === 'string') names.add(member);
      if (part.op === 'value' && typeof part.args === 'string') names.add(part.args);
      visit(part.args);
    }
  };
  visit(ast);
  return { paths, names };
}

/** `has` only tests whether a member is present. */
function testedBy(node: ASTNode): ArgumentPath | undefined {
  const [called, given] = argsOf(node);
  const [tested] = node.op === 'call' && called === 'has' && Array.isArray(given) ? (given as readonly unknown[]) : [];
  const steps = isNode(tested) ? stepsOf(tested) : undefined;
  return steps && { steps, whole: false };
}

function pathTo(node: ASTNode): ArgumentPath | undefined {
  const steps = stepsOf(node);
  return steps && { steps, whole: true };
}

/** The path to `arguments` or to a literally named member of it. Empty for all of `arguments`. */
function stepsOf(node: ASTNode): Steps | undefined {
  if (node.op === 'id') return node.args === 'arguments' ? [] : undefined;
  if (node.op !== '.' && node.op !== '[]') return undefined;
  const [of, step] = argsOf(node);
  const path = isNode(of) ? stepsOf(of) : undefined;
  const key = isNode(step) && step.op === 'value' ? step.args : step;
  if (path === undefined) return undefined;
  if (typeof key === 'string') return [...path, key];
  return typeof key === 'bigint' || typeof key === 'number' ? [...path, Number(key)] : undefined;
}

export function argsOf({ args }: ASTNode): readonly unknown[] {
  return Array.isArray(args) ? args : [];
}

export function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value;
}

/**
 * String comparisons of facts that are joined by `&&`, all of which must hold.
 * `a && b` is false if either side is, even if the other cannot be evaluated (CEL, logical operators).
 */
export function needsOf(node: ASTNode): readonly Need[] {
  const { op } = node;
  const [left, right] = argsOf(node);
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
  if (what.op !== '.') return undefined;
  const [of, name] = argsOf(what);
  const member = needMembers.find((one) => one === name);
  if (!isNode(of) || of.op !== 'id' || of.args !== 'principal' || member === undefined) return undefined;
  return { fact: 'principal', member, value };
}
