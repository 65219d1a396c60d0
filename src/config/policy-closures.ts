/**
 * Most conditions only compare texts: names, and single arguments, with literals. Such a condition becomes a closure
 * that reads just these values, without a copy of all arguments. The library evaluates everything else. Both give the
 * same result for all facts; tests/config/policy-closures.test.ts compares them.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { type Facts, textFacts } from '../policy/rules.ts';
import { argsOf, isNode } from './policy-reads.ts';

/** Undefined where the library has an error. */
type TruthValue = boolean | undefined;
export type Closure = (facts: Facts) => TruthValue;
type Read = (facts: Facts) => unknown;
type Literal = string | boolean;

/** Undefined if the expression has other parts. */
export function closureOf(node: ASTNode): Closure | undefined {
  const [one, other, given] = argsOf(node);
  switch (node.op) {
    case '!_':
      return negated(closureIn(node.args));
    case '&&':
    case '||':
      return joined(closureIn(one), closureIn(other), node.op === '||');
    case '==':
      return comparison(one, [other]);
    case '!=':
      return negated(comparison(one, [other]));
    case 'in':
      return isNode(other) && other.op === 'list' ? comparison(one, other.args) : undefined;
    case 'rcall':
      return textTest(one, other, given);
    default:
      return undefined;
  }
}

function closureIn(part: unknown): Closure | undefined {
  return isNode(part) ? closureOf(part) : undefined;
}

function negated(inner: Closure | undefined): Closure | undefined {
  if (inner === undefined) return undefined;
  return (facts) => {
    const verdict = inner(facts);
    return verdict === undefined ? undefined : !verdict;
  };
}

/** One side that decides is enough, even if the other has an error (CEL, logical operators). */
function joined(left: Closure | undefined, right: Closure | undefined, decisive: boolean): Closure | undefined {
  if (left === undefined || right === undefined) return undefined;
  return (facts) => {
    const verdict = left(facts);
    if (verdict === decisive) return decisive;
    const other = right(facts);
    if (other === decisive) return decisive;
    return verdict === undefined || other === undefined ? undefined : !decisive;
  };
}

/** Strict, as in policy-types.ts: `null` is unequal to every literal, and a value of a different type is an error. */
function comparison(part: unknown, literals: readonly unknown[]): Closure | undefined {
  const read = readOf(part);
  const wanted = literals.map(literalOf);
  const [first] = wanted;
  if (read === undefined || first === undefined) return undefined;
  // The library's own comparison, which is not strict, serves conditions that read nothing but texts.
  if (typeof first !== 'string' && isNode(part) && part.op === 'id') return undefined;
  if (!wanted.every((literal): literal is Literal => typeof literal === typeof first)) return undefined;
  return (facts) => {
    const value = read(facts);
    if (value === null) return false;
    return typeof value === typeof first ? wanted.includes(value as Literal) : undefined;
  };
}

const textTests: Readonly<Record<string, (text: string, literal: string) => boolean>> = {
  contains: (text, literal) => text.includes(literal),
  startsWith: (text, literal) => text.startsWith(literal),
  endsWith: (text, literal) => text.endsWith(literal),
};

function textTest(called: unknown, of: unknown, given: unknown): Closure | undefined {
  const test = typeof called === 'string' && Object.hasOwn(textTests, called) ? textTests[called] : undefined;
  const read = readOf(of);
  const [literal, more] = Array.isArray(given) ? given.map(literalOf) : [];
  if (test === undefined || read === undefined || typeof literal !== 'string' || more !== undefined) return undefined;
  return (facts) => {
    const value = read(facts);
    return typeof value === 'string' ? test(value, literal) : undefined;
  };
}

function literalOf(part: unknown): Literal | undefined {
  const value: unknown = isNode(part) && part.op === 'value' ? part.args : undefined;
  return typeof value === 'string' || typeof value === 'boolean' ? value : undefined;
}

/** Reads a fact that is a text, or a member within `arguments`. */
function readOf(part: unknown): Read | undefined {
  if (!isNode(part)) return undefined;
  const fact = part.op === 'id' ? textFacts.find((name) => name === part.args) : undefined;
  if (fact !== undefined) return (facts) => facts.fact(fact);
  const steps = memberSteps(part);
  return steps === undefined || steps.length === 0 ? undefined : (facts) => facts.argument(steps);
}

function memberSteps(node: ASTNode): readonly string[] | undefined {
  if (node.op === 'id') return node.args === 'arguments' ? [] : undefined;
  const [of, name] = argsOf(node);
  if (node.op !== '.' || !isNode(of) || typeof name !== 'string') return undefined;
  const before = memberSteps(of);
  return before && [...before, name];
}
