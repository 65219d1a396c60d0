/**
 * `when` is a subset of CEL that always terminates soon, whatever a caller sends. Left out are regular expressions (the
 * library uses the platform's, which can take exponential time), local names (each can double the size of the last) and
 * nested loops. With limits on what a condition can read, one costs milliseconds at worst.
 */
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { compileGlob } from '../policy/glob.ts';
import { type Condition, type FactName, factNames } from '../policy/rules.ts';
import { type Closure, closureOf } from './policy-closures.ts';
import { argsOf, argumentsReadBy, isNode, needsOf } from './policy-reads.ts';
import { comparingStrictly, withStrictComparisons } from './policy-types.ts';
import { once } from './shapes.ts';

/** Ten times what people write in a rule. Each bounds the work of one evaluation. */
const limits = { maxAstNodes: 500, maxDepth: 32, maxListElements: 256, maxMapEntries: 64, maxCallArguments: 8 };
const TEXT_LENGTH = 4_096;
/** For the rewritten condition: brackets around operands must not put a valid condition over the limits. */
const writtenOut = { ...limits, maxAstNodes: 4 * limits.maxAstNodes, maxDepth: 4 * limits.maxDepth };

const loops: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map'];
const functions: readonly string[] = [
  ...['has', 'size', 'contains', 'startsWith', 'endsWith', 'glob', 'lowerAscii', 'upperAscii', 'trim'],
  ...['bool', 'double', 'int', 'string', 'type', ...loops],
];

const types: Readonly<Record<FactName, string>> = {
  principal: 'map',
  action: 'string',
  endpoint: 'string',
  backend: 'string',
  kind: 'string',
  name: 'string',
  arguments: 'map',
  annotations: 'map',
};

/** Made for the first condition: it takes milliseconds, and most configs have none. */
const environment = once(() => environmentWithin(limits));
const strict = once(() => comparingStrictly(environmentWithin(writtenOut)));

function environmentWithin(bounds: typeof limits): Environment {
  return factNames
    .reduce(
      (built, name) => built.registerVariable(name, types[name]),
      new Environment({ homogeneousAggregateLiterals: false, limits: bounds }),
    )
    .registerFunction('string.glob(string): bool', matchesGlob, { async: false });
}

export interface NoCondition {
  /** One line. */
  readonly problem: string;
  readonly expected: string;
}

const expected = 'a CEL expression that is true or false';

export function compileCondition(text: string): Condition | NoCondition {
  if (text.length > TEXT_LENGTH) return { problem: 'the expression is too long', expected };
  try {
    const expression = environment().parse(text);
    const complaint = complaintAbout(expression.ast);
    if (complaint !== undefined) return complaint;
    const checked = expression.check();
    if (!checked.valid) return { problem: summaryOf(checked.error), expected };
    if (checked.type !== 'bool' && checked.type !== 'dyn')
      return { problem: `its result is ${checked.type}`, expected };
    const reads = new Set<FactName>();
    visit(expression.ast, (node) => {
      const name = node.op === 'id' ? factNames.find((fact) => fact === node.args) : undefined;
      if (name !== undefined) reads.add(name);
    });
    const isOfTexts = [...reads].every((name) => types[name] === 'string');
    const judged = isOfTexts ? expression : strict().parse(withStrictComparisons(text, expression.ast));
    const strictly = judged.check();
    if (!strictly.valid) return { problem: summaryOf(strictly.error), expected };
    const byLibrary: Closure = (facts) => {
      const read = new Map<string, unknown>();
      for (const name of reads) read.set(name, facts.fact(name));
      const value: unknown = judged(read);
      return typeof value === 'boolean' ? value : undefined;
    };
    const evaluate = closureOf(expression.ast) ?? byLibrary;
    return {
      text,
      reads,
      needs: needsOf(expression.ast),
      arguments: argumentsReadBy(expression.ast),
      evaluate: (facts) => {
        try {
          return evaluate(facts);
        } catch {
          return undefined;
        }
      },
    };
  } catch (error) {
    return { problem: summaryOf(error), expected };
  }
}

function complaintAbout(ast: ASTNode): NoCondition | undefined {
  let complaint: NoCondition | undefined;
  visit(ast, (node, inLoop) => {
    const called = calledBy(node);
    const lost = lostKeyOf(node);
    if (lost !== undefined) complaint ??= { problem: `a map cannot have the key \`${lost}\``, expected: 'another key' };
    if (called === undefined || complaint !== undefined) return;
    if (called === 'matches') {
      complaint = {
        problem: '`matches` is not allowed: its time is not bounded',
        expected: "`glob`: name.glob('files_*')",
      };
    } else if (!functions.includes(called)) {
      complaint = { problem: `there is no function \`${called}\``, expected: `one of: ${functions.join(', ')}` };
    } else if (inLoop && loops.includes(called)) {
      complaint = {
        problem: `\`${called}\` inside another loop is not allowed: its time is not bounded`,
        expected: 'one loop at a time',
      };
    }
  });
  return complaint;
}

/** The library silently drops these keys from a map: a rule that compares with one would never apply. */
const lostKeys: readonly unknown[] = ['__proto__', 'constructor', 'prototype'];

function lostKeyOf(node: ASTNode): string | undefined {
  if (node.op !== 'map') return undefined;
  const [key] = node.args.find(([{ op, args }]) => op === 'value' && lostKeys.includes(args)) ?? [];
  return key === undefined ? undefined : String(key.args);
}

function calledBy(node: ASTNode): string | undefined {
  const [name] = node.op === 'call' || node.op === 'rcall' ? argsOf(node) : [];
  return typeof name === 'string' ? name : undefined;
}

type Look = (node: ASTNode, inLoop: boolean) => void;

/** The list of a loop is outside of it; the expression for each entry is inside. */
function visit(node: ASTNode, look: Look, inLoop = false): void {
  look(node, inLoop);
  const called = calledBy(node);
  const isLoop = node.op === 'rcall' && called !== undefined && loops.includes(called);
  const parts: readonly unknown[] = Array.isArray(node.args) ? node.args : [node.args];
  parts.forEach((part, at) => {
    for (const inner of nodesIn(part)) visit(inner, look, inLoop || (isLoop && at > 1));
  });
}

/** Arguments and entries are in nested arrays, those of maps in pairs. */
function nodesIn(part: unknown): readonly ASTNode[] {
  if (Array.isArray(part)) return part.flatMap(nodesIn);
  return isNode(part) ? [part] : [];
}

function matchesGlob(text: string, pattern: string): boolean {
  const glob = compileGlob(pattern, 'path');
  const matches = typeof glob === 'string' ? undefined : glob.matches(text);
  // `evaluate` catches this.
  if (matches === undefined) throw new TypeError('This cannot be judged');
  return matches;
}

function summaryOf(error: unknown): string {
  const text = error instanceof Error ? ('summary' in error ? String(error.summary) : error.message) : '';
  const [line = ''] = text.split('\n');
  return line === '' ? 'this is not a CEL expression' : line;
}
