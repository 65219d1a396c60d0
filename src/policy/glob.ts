/**
 * Patterns: `*` matches any text, `?` one character, and `\` escapes a character. In paths and URIs `*` and `?` stop at
 * a slash and `**` does not; names have no such parts, and `*` matches any text there. A lone `*` matches everything,
 * everywhere. No pattern becomes a regular expression: the time to match is bounded by the product of the two lengths.
 */
import { isPlainPath, TEXT_LENGTH, withoutDot } from './paths.ts';

export type GlobStyle = 'name' | 'path';

export interface Glob {
  readonly text: string;
  readonly style: GlobStyle;
  /** What all matching texts begin and end with; the whole pattern if it has no wildcard. */
  readonly prefix: string;
  readonly suffix: string;
  /** The longest literal text in the pattern: every matching text contains it. */
  readonly literal: string;
  readonly form: 'exact' | 'all' | 'prefix' | 'suffix' | 'general';
  /** Undefined if it cannot be decided: the text is too long, or is a path that may lead elsewhere. */
  matches(text: string): boolean | undefined;
}

/** Longer than any name or path that a person writes into a rule. */
const PATTERN_LENGTH = 256;

type Token = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'one' | 'part' | 'any' };

/** The pattern, or what was expected instead. */
export function compileGlob(pattern: string, style: GlobStyle): Glob | string {
  if (pattern === '') return 'a pattern that is not empty';
  if (pattern.length > PATTERN_LENGTH) return `a pattern of at most ${PATTERN_LENGTH} characters`;
  const tokens = tokenize(style === 'path' ? withoutDot(pattern) : pattern, style);
  return tokens === undefined ? 'a character after the backslash' : globOf(pattern, style, tokens);
}

function tokenize(pattern: string, style: GlobStyle): readonly Token[] | undefined {
  if (pattern === '*') return [{ kind: 'any' }];
  const tokens: Token[] = [];
  let text = '';
  const flush = () => {
    if (text !== '') tokens.push({ kind: 'text', text });
    text = '';
  };
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]!;
    if (character === '\\') {
      at += 1;
      if (at === pattern.length) return undefined;
      text += pattern[at];
    } else if (character === '?') {
      flush();
      tokens.push({ kind: 'one' });
    } else if (character === '*') {
      flush();
      let stars = 1;
      while (pattern[at + 1] === '*') {
        stars += 1;
        at += 1;
      }
      tokens.push({ kind: style === 'name' || stars > 1 ? 'any' : 'part' });
    } else text += character;
  }
  flush();
  return tokens;
}

function globOf(text: string, style: GlobStyle, tokens: readonly Token[]): Glob {
  const first = tokens[0]!;
  const last = tokens.at(-1)!;
  const prefix = first.kind === 'text' ? first.text : '';
  const suffix = last.kind === 'text' ? last.text : '';
  const literal = tokens.reduce((most, token) => (token.kind === 'text' ? longer(most, token.text) : most), '');
  const facts = { text, style, prefix, suffix, literal };
  if (tokens.length === 1 && first.kind === 'any') return { ...facts, form: 'all', matches: () => true };
  const { form, matches } = formOf(tokens, style, prefix, suffix);
  if (style === 'name') return { ...facts, form, matches };
  // Checked first, for every form: if a path may lead elsewhere, its beginning says nothing.
  return { ...facts, form, matches: (path) => (isPlainPath(path) ? matches(withoutDot(path)) : undefined) };
}

function formOf(
  tokens: readonly Token[],
  style: GlobStyle,
  prefix: string,
  suffix: string,
): Pick<Glob, 'form' | 'matches'> {
  const [first, last] = [tokens[0]?.kind, tokens.at(-1)?.kind];
  if (tokens.length === 1 && first === 'text') return { form: 'exact', matches: (text) => text === prefix };
  if (tokens.length === 2 && first === 'text' && last === 'any') {
    return { form: 'prefix', matches: (text) => text.startsWith(prefix) };
  }
  if (tokens.length === 2 && first === 'any' && last === 'text') {
    return { form: 'suffix', matches: (text) => text.endsWith(suffix) };
  }
  const machine = new GlobMatcher(tokens, style);
  const matches = (text: string): boolean | undefined => {
    if (!text.startsWith(prefix) || !text.endsWith(suffix)) return false;
    return text.length > TEXT_LENGTH ? undefined : machine.matches(text);
  };
  return { form: 'general', matches };
}

function longer(one: string, other: string): string {
  return other.length > one.length ? other : one;
}

/** Whether patterns can judge the text at all. If not, what it contains says nothing. */
export function isJudgeable(candidate: string, style: GlobStyle): boolean {
  return style === 'path' ? isPlainPath(candidate) : candidate.length <= TEXT_LENGTH;
}

const SLASH = 0x2f;
/** Above the range of UTF-16 code units. */
const ONE = 0x10000;
const PART = 0x10001;
const ANY = 0x10002;

/** Follows all possible positions in the pattern at once, so there is no backtracking. */
class GlobMatcher {
  readonly #steps: readonly number[];
  readonly #separated: boolean;

  constructor(tokens: readonly Token[], style: GlobStyle) {
    const codes = { one: ONE, part: PART, any: ANY };
    this.#steps = tokens.flatMap((token) =>
      token.kind === 'text'
        ? Array.from({ length: token.text.length }, (_, at) => token.text.charCodeAt(at))
        : codes[token.kind],
    );
    this.#separated = style === 'path';
  }

  matches(text: string): boolean {
    const steps = this.#steps;
    let here = new Uint8Array(steps.length + 1);
    let next = new Uint8Array(steps.length + 1);
    this.#enter(here, 0);
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const divides = this.#separated && code === SLASH;
      let alive = false;
      for (let step = 0; step < steps.length; step++) {
        if (here[step] === 0) continue;
        const wanted = steps[step];
        const to =
          wanted === ANY || (wanted === PART && !divides)
            ? step
            : wanted === code || (wanted === ONE && !divides)
              ? step + 1
              : -1;
        if (to === -1) continue;
        this.#enter(next, to);
        alive = true;
      }
      if (!alive) return false;
      [here, next] = [next, here];
      next.fill(0);
    }
    return here[steps.length] === 1;
  }

  /** A wildcard also matches the empty text. */
  #enter(places: Uint8Array, from: number): void {
    let step = from;
    places[step] = 1;
    while (this.#steps[step] === ANY || this.#steps[step] === PART) {
      step += 1;
      places[step] = 1;
    }
  }
}
