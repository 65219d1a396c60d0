/**
 * What an expression reads of `arguments`: the paths that it names, and every string that could be the name of a
 * member.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import type { ArgumentPath, ArgumentsRead } from '../policy/rules.ts';

type Steps = ArgumentPath['steps'];

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

function argsOf({ args }: ASTNode): readonly unknown[] {
  return Array.isArray(args) ? args : [];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value;
}
