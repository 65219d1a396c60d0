/**
 * Finds the patterns that could match a name without comparing the others: by whole name, by prefix, by suffix, by a
 * contained text, and the rest. It only preselects.
 */
import { type Glob, type GlobStyle, isJudgeable } from './glob.ts';
import { Literals } from './literals.ts';
import { withoutDot } from './paths.ts';

export interface IndexedPattern<Item> {
  readonly glob: Glob;
  /** What the pattern stands for. */
  readonly item: Item;
}

interface InnerText<Item> {
  readonly text: string;
  readonly item: Item;
}

export class NameIndex<Item> {
  readonly #exact = new Map<string, Item[]>();
  readonly #prefixes = new Ends<Item>((name, length) => name.slice(0, length));
  readonly #suffixes = new Ends<Item>((name, length) => name.slice(name.length - length));
  readonly #inner: InnerText<Item>[] = [];
  readonly #literals: Literals<Item>;
  readonly #others: Item[] = [];
  readonly #style: GlobStyle;

  constructor(patterns: readonly IndexedPattern<Item>[], style: GlobStyle) {
    for (const pattern of patterns) this.#add(pattern);
    this.#literals = new Literals(this.#inner);
    this.#style = style;
  }

  #add({ glob: { form, prefix, suffix, literal }, item }: IndexedPattern<Item>): void {
    if (form === 'exact') push(this.#exact, prefix, item);
    else if (prefix !== '') this.#prefixes.add(prefix, item);
    else if (suffix !== '') this.#suffixes.add(suffix, item);
    else if (literal !== '') this.#inner.push({ text: literal, item });
    else this.#others.push(item);
  }

  /** In no particular order; an item may be found twice. */
  find(text: string, into: Item[]): void {
    const name = this.#style === 'path' ? withoutDot(text) : text;
    append(into, this.#exact.get(name));
    this.#prefixes.find(name, into);
    this.#suffixes.find(name, into);
    if (this.#inner.length > 0) this.#findInner(name, into);
    append(into, this.#others);
  }

  /** A name that cannot be judged fails every pattern, and deny rules rely on that. */
  #findInner(name: string, into: Item[]): void {
    if (isJudgeable(name, this.#style)) this.#literals.find(name, into);
    else for (const { item } of this.#inner) into.push(item);
  }
}

class Ends<Item> {
  readonly #cut: (name: string, length: number) => string;
  readonly #byText = new Map<string, Item[]>();
  #lengths: number[] = [];

  constructor(cut: (name: string, length: number) => string) {
    this.#cut = cut;
  }

  add(text: string, item: Item): void {
    if (!this.#lengths.includes(text.length)) this.#lengths = [...this.#lengths, text.length].sort((a, b) => a - b);
    push(this.#byText, text, item);
  }

  find(name: string, into: Item[]): void {
    for (const length of this.#lengths) {
      if (length > name.length) return;
      append(into, this.#byText.get(this.#cut(name, length)));
    }
  }
}

export function push<Item>(map: Map<string, Item[]>, key: string, item: Item): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [item]);
  else list.push(item);
}

export function append<Item>(into: Item[], items: readonly Item[] | undefined): void {
  if (items !== undefined) for (const item of items) into.push(item);
}
