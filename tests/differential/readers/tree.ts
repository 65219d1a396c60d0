/**
 * JSON as a tree that can be written in any spelling: keys are the text between the quotes, leaves are raw text, and a
 * key may stand twice. The grammar builds such trees, and the readers read them back, without any code of the gateway.
 */
export interface Member {
  /** As it stands in the text, quotes included. */
  readonly key: string;
  readonly value: Node;
}

export type Node =
  | { readonly kind: 'object'; readonly members: Member[] }
  | { readonly kind: 'array'; readonly items: Node[] }
  | { readonly kind: 'leaf'; readonly text: string };

export function leaf(text: string): Node {
  return { kind: 'leaf', text };
}

export function treeOf(value: unknown): Node {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return leaf(JSON.stringify(value));
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => ({ key: JSON.stringify(key), value: treeOf(member) }));
  return { kind: 'object', members };
}

export function write(node: Node, space: () => string = () => ''): string {
  if (node.kind === 'leaf') return `${space()}${node.text}${space()}`;
  if (node.kind === 'array') return `${space()}[${node.items.map((item) => write(item, space)).join(',')}]${space()}`;
  const members = node.members.map(({ key, value }) => `${space()}${key}${space()}:${write(value, space)}`);
  return `${space()}{${members.join(',')}}${space()}`;
}

/** What the key means, or undefined where it is no JSON string. */
export function nameOf(key: string): string | undefined {
  try {
    const name: unknown = JSON.parse(key);
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}

/** Strict (RFC 8259), keeps every member in its order. Undefined for anything else. */
export function parse(text: string): Node | undefined {
  const reader = new Parser(text);
  const node = reader.value(0);
  return node !== undefined && reader.atEnd() ? node : undefined;
}

const DEEPEST = 1000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON excludes exactly these from strings.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\n\r]*/y;

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  atEnd(): boolean {
    this.#take(SPACE);
    return this.#at === this.#text.length;
  }

  value(depth: number): Node | undefined {
    if (depth > DEEPEST) return undefined;
    this.#take(SPACE);
    if (this.#eat('{')) return this.#object(depth);
    if (this.#eat('[')) return this.#array(depth);
    const text = this.#take(STRING) ?? this.#take(NUMBER) ?? this.#take(WORD);
    return text === undefined ? undefined : leaf(text);
  }

  #object(depth: number): Node | undefined {
    const members: Member[] = [];
    this.#take(SPACE);
    if (this.#eat('}')) return { kind: 'object', members };
    do {
      this.#take(SPACE);
      const key = this.#take(STRING);
      this.#take(SPACE);
      if (key === undefined || !this.#eat(':')) return undefined;
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      members.push({ key, value });
      this.#take(SPACE);
    } while (this.#eat(','));
    return this.#eat('}') ? { kind: 'object', members } : undefined;
  }

  #array(depth: number): Node | undefined {
    const items: Node[] = [];
    this.#take(SPACE);
    if (this.#eat(']')) return { kind: 'array', items };
    do {
      const item = this.value(depth + 1);
      if (item === undefined) return undefined;
      items.push(item);
      this.#take(SPACE);
    } while (this.#eat(','));
    return this.#eat(']') ? { kind: 'array', items } : undefined;
  }

  #eat(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}
