/**
 * Strict comparisons for CEL. In CEL, values of different types are unequal. But callers choose the types of arguments,
 * and some backends accept `"true"` or `1` for `true`, and `["x"]` for `"x"`. Such a comparison is an error, also
 * inside lists or maps. It is no error if a different entry certainly differs: the whole is then unequal, however a
 * backend reads the rest. All numbers are of one type; `null` is unequal to everything else.
 */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';

/**
 * The functions that replace `==` and `in`. Conditions cannot call them: policy-condition.ts has the list of allowed
 * functions.
 */
const SAME = 'same';
const WITHIN = 'within';

export function comparingStrictly(environment: Environment): Environment {
  return environment
    .registerFunction(`${SAME}(dyn, dyn): bool`, (one: unknown, other: unknown) => certain(same(one, other)), {
      async: false,
    })
    .registerFunction(`${WITHIN}(dyn, dyn): bool`, (one: unknown, all: unknown) => certain(within(one, all)), {
      async: false,
    });
}

/** Undefined if undecidable. */
type Comparable = boolean | undefined;

function certain(verdict: Comparable): boolean {
  if (verdict === undefined) throw new TypeError('Values of different types');
  return verdict;
}

function same(one: unknown, other: unknown): Comparable {
  if (one === null || other === null) return one === other;
  const kind = kindOf(one);
  return kind === kindOf(other) ? comparisons[kind](one, other) : undefined;
}

/** Whether it is in a list, or a key of a map. */
function within(one: unknown, all: unknown): Comparable {
  const kind = kindOf(all);
  if (kind !== 'list' && kind !== 'map') return undefined;
  const entries = kind === 'list' ? (all as readonly unknown[]) : [...membersOf(all).keys()];
  let verdict: Comparable = false;
  for (const entry of entries) {
    const found = same(one, entry);
    if (found === true) return true;
    if (found === undefined) verdict = undefined;
  }
  return verdict;
}

type ValueKind = 'text' | 'bool' | 'number' | 'list' | 'map' | 'bytes' | 'other';
type Comparison = (one: unknown, other: unknown) => Comparable;

const identical: Comparison = (one, other) => one === other;

const comparisons: Readonly<Record<ValueKind, Comparison>> = {
  text: identical,
  bool: identical,
  number: (one, other) => sameNumber(one as number, other as number),
  list: (one, other) => sameList(one as readonly unknown[], other as readonly unknown[]),
  map: (one, other) => sameMap(membersOf(one), membersOf(other)),
  bytes: (one, other) => Buffer.compare(one as Uint8Array, other as Uint8Array) === 0,
  other: identical,
};

/** Throws for values that are too large to read (policy/facts.ts), so call it before comparing. */
function kindOf(value: unknown): ValueKind {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'bool';
  const worth = (value as object).valueOf();
  if (typeof worth === 'number' || typeof worth === 'bigint') return 'number';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Map) return 'map';
  if (value instanceof Uint8Array) return 'bytes';
  // A map literal of the condition is a plain object. The result of `type()` has a class of the library.
  return Object.getPrototypeOf(value) === Object.prototype ? 'map' : 'other';
}

/**
 * An int is a bigint, a double a number, and a uint has a `valueOf`: JavaScript's relational operators compare them by
 * value.
 */
function sameNumber(one: number, other: number): boolean {
  return one <= other && one >= other;
}

function sameList(one: readonly unknown[], other: readonly unknown[]): Comparable {
  if (one.length !== other.length) return false;
  return everyPlace(one.map((entry, at) => [entry, other[at]]));
}

function sameMap(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): Comparable {
  if (one.size !== other.size || ![...one.keys()].every((name) => other.has(name))) return false;
  return everyPlace([...one].map(([name, value]) => [value, other.get(name)]));
}

function everyPlace(pairs: readonly (readonly [unknown, unknown])[]): Comparable {
  const verdicts = pairs.map(([one, other]) => same(one, other));
  if (verdicts.includes(false)) return false;
  return verdicts.includes(undefined) ? undefined : true;
}

function membersOf(map: unknown): ReadonlyMap<string, unknown> {
  return map instanceof Map ? map : new Map(Object.entries(map as object));
}

/**
 * The same expression with strict comparisons in place of `==`, `!=` and `in`. Names and literals are copied from the
 * text; every other operand is put in brackets.
 */
export function withStrictComparisons(text: string, ast: ASTNode): string {
  const write = (node: ASTNode): string => {
    switch (node.op) {
      case 'value':
      case 'id':
        return text.slice(node.start, node.end);
      case '==':
        return `${SAME}(${list(node.args)})`;
      case '!=':
        return `!${SAME}(${list(node.args)})`;
      case 'in':
        return `${WITHIN}(${list(node.args)})`;
      case '!_':
      case '-_':
        return `${node.op[0]}${inner(node.args)}`;
      case '.':
      case '.?':
        return `${inner(node.args[0])}${node.op}${node.args[1]}`;
      case '[]':
      case '[?]':
        return `${inner(node.args[0])}${node.op.slice(0, -1)}${write(node.args[1])}]`;
      case 'call':
        return `${node.args[0]}(${list(node.args[1])})`;
      case 'rcall':
        return `${inner(node.args[1])}.${node.args[0]}(${list(node.args[2])})`;
      case 'list':
        return `[${list(node.args)}]`;
      case 'map':
        return `{${node.args.map(([key, value]) => `${write(key)}: ${write(value)}`).join(', ')}}`;
      case '?:':
        return `${inner(node.args[0])} ? ${inner(node.args[1])} : ${inner(node.args[2])}`;
      default:
        return `${inner(node.args[0])} ${node.op} ${inner(node.args[1])}`;
    }
  };
  const inner = (node: ASTNode) => (node.op === 'id' ? write(node) : `(${write(node)})`);
  const list = (nodes: readonly ASTNode[]) => nodes.map(write).join(', ');
  return write(ast);
}
