/**
 * CEL takes values of different types for unequal. But callers choose the types of arguments, and there are backends that take
 * `"true"` or `1` for `true`, and `["x"]` for `"x"`. Such a comparison cannot be judged here: it is an error, as is a comparison
 * with a member that is absent. `null` stays unequal to everything else.
 */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';

const types = ['string', 'bool', 'int', 'double', 'list', 'map'];
const numbers: ReadonlySet<string> = new Set(['int', 'double']);

/** For `==` and `!=` of values whose types are known only when they come. */
export function comparingStrictly(environment: Environment): Environment {
  types.forEach((one, at) => {
    for (const other of types.slice(at + 1)) {
      if (numbers.has(one) && numbers.has(other)) continue;
      environment.registerOperator(`dyn<${one}> == ${other}`, refuse);
    }
  });
  return environment;
}

function refuse(): never {
  throw new TypeError('Values of different types');
}

/**
 * The same expression without `in`, which asks no operator in the library: `a in b` becomes `b.exists(each, each == a)`. Literals
 * are copied as they stand in the text, everything else is put in brackets.
 */
export function withoutIn(text: string, ast: ASTNode): string {
  let each = 'each';
  while (text.includes(each)) each += '_';
  return new Writer(text, each).write(ast);
}

class Writer {
  readonly #text: string;
  readonly #each: string;

  constructor(text: string, each: string) {
    this.#text = text;
    this.#each = each;
  }

  write(node: ASTNode): string {
    switch (node.op) {
      case 'value':
      case 'id':
        return this.#text.slice(node.start, node.end);
      case 'in':
        return `${this.#inner(node.args[1])}.exists(${this.#each}, ${this.#each} == ${this.#inner(node.args[0])})`;
      case '!_':
      case '-_':
        return `${node.op[0]}${this.#inner(node.args)}`;
      case '.':
      case '.?':
        return `${this.#inner(node.args[0])}${node.op}${node.args[1]}`;
      case '[]':
      case '[?]':
        return `${this.#inner(node.args[0])}${node.op.slice(0, -1)}${this.write(node.args[1])}]`;
      case 'call':
        return `${node.args[0]}(${this.#list(node.args[1])})`;
      case 'rcall':
        return `${this.#inner(node.args[1])}.${node.args[0]}(${this.#list(node.args[2])})`;
      case 'list':
        return `[${this.#list(node.args)}]`;
      case 'map':
        return `{${node.args.map(([key, value]) => `${this.write(key)}: ${this.write(value)}`).join(', ')}}`;
      case '?:':
        return `${this.#inner(node.args[0])} ? ${this.#inner(node.args[1])} : ${this.#inner(node.args[2])}`;
      default:
        return `${this.#inner(node.args[0])} ${node.op} ${this.#inner(node.args[1])}`;
    }
  }

  #inner(node: ASTNode): string {
    const isPlain = node.op === 'id' || node.op === 'value' || node.op === 'list';
    return isPlain ? this.write(node) : `(${this.write(node)})`;
  }

  #list(nodes: readonly ASTNode[]): string {
    return nodes.map((node) => this.write(node)).join(', ');
  }
}
