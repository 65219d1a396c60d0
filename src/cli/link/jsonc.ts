/**
 * Reads JSON with comments and trailing commas, as editors write it, into values with their places in the text.
 * Clients' files are edited at these places, so that everything else in them stays as it is. The reader of
 * `config/parse.ts` is a YAML parser: it takes seconds for the megabytes that some clients keep in these files.
 */

export interface JsoncNode {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** Of an object. */
  readonly members?: readonly JsoncMember[];
}

export interface JsoncMember {
  readonly key: string;
  readonly start: number;
  readonly node: JsoncNode;
  /** The comma after the member. */
  readonly comma: number | undefined;
}

export class JsoncError extends Error {
  override readonly name = 'JsoncError';
}

/** Far deeper than any client's file. */
const DEEPEST = 200;

/** A string in as few steps as possible: some clients keep megabytes in one, and the engine has a stack for steps. */
const scalar = /"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const trivia = /(?:[\s\ufeff]+|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)*/y;

/** Throws a JsoncError that says where the text is wrong. */
export function readJsonc(text: string): JsoncNode {
  const reader = new JsoncReader(text);
  const node = reader.value(reader.skip(0), 0);
  const end = reader.skip(node.end);
  if (end !== text.length) throw reader.wrong(end);
  return node;
}

/** Where the next character is that is neither white space nor part of a comment. */
export function afterTrivia(text: string, from: number): number {
  trivia.lastIndex = from;
  return from + (trivia.exec(text)?.[0].length ?? 0);
}

class JsoncReader {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  skip(from: number): number {
    return afterTrivia(this.#text, from);
  }

  value(start: number, depth: number): JsoncNode {
    if (depth > DEEPEST) throw this.wrong(start);
    const first = this.#text[start];
    if (first === '{') return this.#object(start, depth);
    if (first === '[') return this.#array(start, depth);
    scalar.lastIndex = start;
    const found = scalar.exec(this.#text)?.[0];
    if (found === undefined) throw this.wrong(start);
    return { start, end: start + found.length, value: this.#parsed(found, start) };
  }

  wrong(at: number): JsoncError {
    const before = this.#text.slice(0, at).split('\n');
    return new JsoncError(`line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1} is not valid JSON`);
  }

  #object(start: number, depth: number): JsoncNode {
    const members: JsoncMember[] = [];
    const value: Record<string, unknown> = Object.create(null);
    let at = this.skip(start + 1);
    while (this.#text[at] !== '}') {
      const name = this.value(at, depth + 1);
      if (typeof name.value !== 'string' || Object.hasOwn(value, name.value)) throw this.wrong(at);
      const colon = this.skip(name.end);
      if (this.#text[colon] !== ':') throw this.wrong(colon);
      const node = this.value(this.skip(colon + 1), depth + 1);
      value[name.value] = node.value;
      const comma = this.#comma(node.end, '}');
      members.push({ key: name.value, start: at, node, comma });
      at = this.skip(comma === undefined ? node.end : comma + 1);
    }
    return { start, end: at + 1, value, members };
  }

  #array(start: number, depth: number): JsoncNode {
    const items: unknown[] = [];
    let at = this.skip(start + 1);
    while (this.#text[at] !== ']') {
      const node = this.value(at, depth + 1);
      items.push(node.value);
      const comma = this.#comma(node.end, ']');
      at = this.skip(comma === undefined ? node.end : comma + 1);
    }
    return { start, end: at + 1, value: items };
  }

  #comma(from: number, closing: string): number | undefined {
    const at = this.skip(from);
    if (this.#text[at] === ',') return at;
    if (this.#text[at] !== closing) throw this.wrong(at);
    return undefined;
  }

  #parsed(found: string, start: number): unknown {
    try {
      return JSON.parse(found);
    } catch {
      throw this.wrong(start);
    }
  }
}
