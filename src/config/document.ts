/** One config file: its values, and the position of each. */
import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import { excerptAt, knownWords, visibleSpans } from './excerpt.ts';
import { expand, type Variables } from './expand.ts';
import { nearest } from './nearest.ts';
import { isJsonScalar, parseText, type TextSpan } from './parse.ts';
import { ConfigError, type Problem } from './problems.ts';
import { type Syntax, wordingOf } from './syntax.ts';

export type Path = readonly PropertyKey[];

export interface Complaint {
  readonly message: string;
  readonly expected?: string;
  /** Valid spellings; the one nearest to `wrong` is suggested. */
  readonly candidates?: readonly string[];
  readonly wrong?: string;
}

/** Far deeper than any setting is nested. */
const deepest = 64;
/**
 * Values that aliases may add: a few lines can expand to billions. Values that the file spells out are not counted: the
 * size of the file bounds them.
 */
const mostAliased = 500_000;

/** More would not be read, and each costs a scan of the file. */
const mostProblems = 500;

/**
 * Values under these keys are text, even if they look like numbers: `args: [--port, 8080]`, `VERSION: 1.10`. Overrides
 * have the names of arguments as keys.
 */
const textOnly: ReadonlySet<PropertyKey> = new Set(['args', 'env', 'headers']);

export class ConfigDocument {
  readonly file: string;
  readonly problems: Problem[] = [];
  readonly #text: string;
  readonly #syntax: Syntax;
  readonly #document: Document.Parsed | undefined;
  /** Paths that already have a problem: further problems there only follow from it. */
  readonly #faulty = new Set<string>();
  /** What each alias stands for. Set with the first alias that is read. */
  #aliases: ReadonlyMap<Alias, Node | undefined> | undefined;
  readonly #sound: boolean;
  /** The parts of the text that an error message may quote. Computed for the first problem. */
  #visible: readonly TextSpan[] | undefined;
  #lines: LineCounter | undefined;
  /** How many aliases the value that is being read is inside of. */
  #aliasDepth = 0;
  #aliased = 0;

  /** Throws a ConfigError for a syntax error: the values are then unknown. */
  constructor(file: string, text: string, syntax: Syntax) {
    this.file = file;
    this.#text = text;
    this.#syntax = syntax;
    const parsed = parseText(text, syntax);
    this.#document = parsed.document;
    this.#sound = parsed.sound;
    for (const { span, ...complaint } of parsed.faults) {
      if (span === undefined) this.problems.push({ file, line: 0, column: 0, ...told(complaint) });
      else this.#reportAt([span.start], span, complaint);
    }
    if (parsed.faults.length > 0) throw new ConfigError(this.problems);
  }

  /** The keys of the map at a path, or undefined if there is no map. */
  keys(path: Path): string[] | undefined {
    const found = this.#find(path).node;
    const node = isAlias(found) ? this.#resolve(found) : found;
    return isMap(node) ? this.#members(node, path).map(({ name }) => name) : undefined;
  }

  /** The value at a path, with variables expanded if any are given. Problems are reported. */
  read(path: Path, variables?: Variables): unknown {
    const { node } = this.#find(path);
    return node === undefined ? undefined : this.#value(node, path, 0, variables);
  }

  /** Reports a problem of the value at a path, or of its nearest parent if there is no such value. */
  report(path: Path, complaint: Complaint): void {
    const found = this.#find(path);
    this.#reportAt(path, spanOf(isBlank(found.node) ? found.around : found.node), complaint);
  }

  /** Reports a problem of the key at a path rather than of its value. */
  reportKey(path: Path, complaint: Complaint): void {
    this.#reportAt([...path.slice(0, -1), `key ${String(path.at(-1))}`], spanOf(this.#find(path).around), complaint);
  }

  /** Reports a key that has no effect where it is; `where` says where it has one ("beside a `url`"). */
  reportMeaningless(path: Path, where: string): void {
    const key = String(path.at(-1));
    this.reportKey(path, { message: `\`${key}\` has no effect here`, expected: `\`${key}\` only ${where}` });
  }

  #value(node: Node | null, path: Path, depth: number, variables: Variables | undefined): unknown {
    if (node === null) return null;
    if (depth > deepest || (this.#aliasDepth > 0 && ++this.#aliased > mostAliased)) {
      this.#reportAt(path.slice(0, 1), spanOf(node), {
        message: 'this is nested too deeply, or its aliases expand to too many values',
      });
      return undefined;
    }
    if (isAlias(node)) {
      const target = this.#resolve(node);
      if (target !== undefined) {
        this.#aliasDepth += 1;
        const value = this.#value(target, path, depth + 1, variables);
        this.#aliasDepth -= 1;
        return value;
      }
      this.#reportAt(path, spanOf(node), wordingOf('BAD_ALIAS', this.#syntax));
      return undefined;
    }
    if (isMap(node)) {
      const members = this.#members(node, path);
      return Object.fromEntries(
        members.map(({ name, value }) => [name, this.#value(value, [...path, name], depth + 1, variables)]),
      );
    }
    if (isSeq(node)) {
      return node.items.map((item, at) => this.#value(item as Node, [...path, at], depth + 1, variables));
    }
    return isScalar(node) ? this.#scalar(node as Scalar, path, variables) : undefined;
  }

  /**
   * The readable members of a map. The parser has refused duplicate keys, except for a text and a number that look
   * alike.
   */
  #members(map: YAMLMap, path: Path): DocumentMember[] {
    const members = new Map<string, DocumentMember>();
    for (const item of map.items) {
      const key = item.key as Node | null;
      const name = this.#keyText(key);
      const refuse = (complaint: Complaint): void =>
        this.#reportAt([...path, `key ${name ?? spanOf(key).start}`], spanOf(key), complaint);
      // `{ key value }` lacks its colon, and the apparent key may contain a secret.
      if (item.value === null) refuse({ message: 'a key without a value', expected: 'a colon after the key' });
      else if (name === undefined || name === '__proto__')
        refuse({ message: "this can't be a key", expected: 'a name' });
      else if (members.has(name)) refuse({ message: `\`${name}\` is repeated` });
      else {
        if (this.#syntax === 'json' && !this.#source(key).startsWith('"')) {
          refuse({ message: 'this is not valid JSON', expected: 'the name in double quotes' });
        }
        members.set(name, { name, value: item.value as Node | null });
      }
    }
    return [...members.values()];
  }

  #scalar(node: Scalar, path: Path, variables: Variables | undefined): unknown {
    const span = spanOf(node);
    const source = this.#source(node);
    if (this.#syntax === 'json' && !isJsonScalar(source)) {
      const backslash = source.includes('\\') ? ', with every backslash written twice' : '';
      const expected = `text in double quotes${backslash}, or a number, true, false or null`;
      this.#reportAt(path, span, { message: 'this is not valid JSON', expected });
      return undefined;
    }
    const { value } = node;
    if (typeof value === 'number' || typeof value === 'boolean') {
      return textOnly.has(path.at(-2) ?? '') && path[2] !== 'overrides' ? source : value;
    }
    if (typeof value !== 'string') return value === null || value === undefined ? null : undefined;
    if (variables === undefined) return value;
    const expansion = expand(value, variables);
    for (const { written, message, expected } of expansion.faults) {
      const at = source.indexOf(written);
      const start = span.start + at;
      const found = at === -1 ? span : { start, end: start + written.length };
      this.#reportAt([...path, written], found, { message, expected });
    }
    // Mark the path only after all faults are reported.
    if (expansion.faults.length > 0) this.#faulty.add(place(path));
    return expansion.text;
  }

  #keyText(key: unknown): string | undefined {
    if (!isScalar(key) || key.value === null) return undefined;
    return typeof key.value === 'string' ? key.value : this.#source(key as Scalar);
  }

  #source(node: Node | null): string {
    const { start, end } = spanOf(node);
    return this.#text.slice(start, end);
  }

  #resolve(alias: Alias): Node | undefined {
    this.#aliases ??= aliasesIn(this.#document);
    return this.#aliases.get(alias);
  }

  /** The node at a path, and the nearest key or item: its own key, or that of its missing parent. */
  #find(path: Path): { node: Node | null | undefined; around: Node | null } {
    let node: Node | null | undefined = this.#document?.contents ?? null;
    let around: Node | null = null;
    for (const step of path) {
      if (isAlias(node)) node = this.#resolve(node);
      if (isMap(node)) {
        const pair: { key: unknown; value: unknown } | undefined = node.items.find(
          (item) => this.#keyText(item.key) === step,
        );
        if (pair === undefined) return { node: undefined, around: around ?? firstOf(node) };
        around = pair.key as Node;
        node = pair.value as Node | null;
      } else if (isSeq(node) && typeof step === 'number' && step < node.items.length) {
        node = node.items[step] as Node | null;
        around = firstOf(node) ?? around;
      } else return { node: undefined, around: around ?? firstOf(node) };
    }
    return { node, around };
  }

  #reportAt(path: Path, span: TextSpan, complaint: Complaint): void {
    if (path.some((_, at) => this.#faulty.has(place(path.slice(0, at + 1))))) return;
    if (this.problems.length >= mostProblems) return;
    this.#faulty.add(place(path));
    this.#lines ??= lineCounter(this.#text);
    const { line, col } = this.#lines.linePos(span.start);
    this.#visible ??= this.#sound ? visibleSpans(this.#document?.contents ?? null, this.#text) : knownWords(this.#text);
    const excerpt = excerptAt(this.#text, span, this.#visible);
    this.problems.push({ file: this.file, line, column: col, ...told(complaint), excerpt });
  }
}

interface DocumentMember {
  readonly name: string;
  readonly value: Node | null;
}

function told(complaint: Complaint): Pick<Problem, 'message' | 'expected' | 'didYouMean'> {
  const { message, expected, candidates, wrong } = complaint;
  const didYouMean = wrong === undefined ? undefined : nearest(wrong, candidates ?? []);
  return { message, ...(expected !== undefined && { expected }), ...(didYouMean !== undefined && { didYouMean }) };
}

function place(path: Path): string {
  return JSON.stringify(path);
}

function lineCounter(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return lines;
}

/** A block is reported at its first key or item. */
function firstOf(node: Node | null | undefined): Node | null {
  if (isMap(node)) return (node.items[0]?.key as Node | undefined) ?? node;
  if (isSeq(node)) return (node.items[0] as Node | undefined) ?? node;
  return node ?? null;
}

/** An empty value has a position, but not one that a reader could see. */
function isBlank(node: Node | null | undefined): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null && node.source === '');
}

/** A map or a list spans many lines, so this is its opening bracket, or its first key or item. */
function spanOf(node: Node | null | undefined): TextSpan {
  if (isCollection(node) && node.flow && node.range) return { start: node.range[0], end: node.range[0] + 1 };
  const range = firstOf(node)?.range;
  return range ? { start: range[0], end: range[1] } : { start: 0, end: 1 };
}

/** In one walk: looking for each anchor by itself takes minutes where thousands of rules have an alias. */
function aliasesIn(document: Document | undefined): ReadonlyMap<Alias, Node | undefined> {
  const aliases = new Map<Alias, Node | undefined>();
  const anchors = new Map<string, Node>();
  if (document === undefined) return aliases;
  visit(document, {
    Node: (_key, node) => {
      if (isAlias(node)) aliases.set(node, anchors.get(node.source));
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return aliases;
}
