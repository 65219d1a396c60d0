/**
 * Whether a URI may be an expansion of a URI template (RFC 6570). An expression matches any text of the form that its
 * operator allows, so the match is generous: the backend decides what its template really means.
 */

/** Literal text, or an expression. */
type Piece = { readonly literal: string } | Expression;

interface Expression {
  /** The first character of a non-empty expansion. Empty: none in particular. */
  readonly lead: string;
  /** A character that the expansion cannot contain. Empty: it can contain all. */
  readonly stop: string;
}

/** Longer than any URI that common web software accepts. */
const URI_LENGTH = 8_192;
const TEMPLATE_LENGTH = 2_048;
/** Matching costs at most this many passes over the URI. */
const EXPRESSIONS = 32;

/**
 * Section 2.2. Values are percent-encoded, slashes too. URIs written by hand are only expected to follow these rules.
 */
const operators: Readonly<Record<string, Expression>> = {
  '+': { lead: '', stop: '' },
  '#': { lead: '#', stop: '' },
  '.': { lead: '.', stop: '/' },
  '/': { lead: '/', stop: '/' },
  ';': { lead: ';', stop: '/' },
  '?': { lead: '?', stop: '#' },
  '&': { lead: '&', stop: '#' },
};
const simple: Expression = { lead: '', stop: '/' };
/** Section 2.3 allows fewer characters than servers use. Reserved operators are refused: their meaning is undefined. */
const VARIABLES = /^[^{}=,!@|][^{}]*$/;

/** Undefined if it is not a template: unbalanced braces, an unknown operator, or over the limits. */
function readTemplate(template: string): readonly Piece[] | undefined {
  if (template.length > TEMPLATE_LENGTH) return undefined;
  const pieces: Piece[] = [];
  let expressions = 0;
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf('{', at);
    const literal = template.slice(at, open === -1 ? undefined : open);
    if (literal.includes('}')) return undefined;
    if (literal !== '') pieces.push({ literal });
    if (open === -1) break;
    const close = template.indexOf('}', open);
    const expression = close === -1 ? undefined : readExpression(template.slice(open + 1, close));
    if (expression === undefined || ++expressions > EXPRESSIONS) return undefined;
    pieces.push(expression);
    at = close + 1;
  }
  return pieces;
}

function readExpression(text: string): Expression | undefined {
  const operator = Object.hasOwn(operators, text[0] ?? '') ? operators[text[0] as string] : undefined;
  const variables = operator === undefined ? text : text.slice(1);
  if (!VARIABLES.test(variables)) return undefined;
  const isList = variables.includes('*');
  // Several values, each after a slash.
  if (operator?.lead === '/' && (isList || variables.includes(','))) return { lead: '/', stop: '' };
  // Widespread servers take `{path*}` for a whole path.
  return operator ?? (isList ? { lead: '', stop: '' } : simple);
}

export function matchesTemplate(template: string, uri: string): boolean {
  if (uri.length > URI_LENGTH) return false;
  const open = template.indexOf('{');
  // The prefixes of most templates differ.
  if (open > 0 && !uri.startsWith(template.slice(0, open))) return false;
  const pieces = readTemplate(template);
  if (pieces === undefined) return false;
  // The positions in the URI where the pieces so far may end. All alternatives are followed at once, without
  // backtracking.
  let ends: Uint8Array = new Uint8Array(uri.length + 1);
  ends[0] = 1;
  for (const piece of pieces) {
    const next = 'literal' in piece ? afterLiteral(uri, ends, piece.literal) : afterExpression(uri, ends, piece);
    if (next === undefined) return false;
    ends = next;
  }
  return ends[uri.length] === 1;
}

function afterLiteral(uri: string, ends: Uint8Array, literal: string): Uint8Array | undefined {
  const next = new Uint8Array(ends.length);
  let found = false;
  for (let at = uri.indexOf(literal); at !== -1; at = uri.indexOf(literal, at + 1)) {
    if (ends[at] !== 1) continue;
    next[at + literal.length] = 1;
    found = true;
  }
  return found ? next : undefined;
}

function afterExpression(uri: string, ends: Uint8Array, { lead, stop }: Expression): Uint8Array {
  // Without a value the expansion is empty, without the lead too.
  const next = ends.slice();
  let inside = false;
  for (let at = 0; at < ends.length; at++) {
    const before = at === 0 ? '' : uri[at - 1];
    if (stop !== '' && before === stop) inside = false;
    if (lead === '' ? ends[at] === 1 : at > 0 && ends[at - 1] === 1 && before === lead) inside = true;
    if (inside) next[at] = 1;
  }
  return next;
}

interface OwnedTemplate {
  readonly backend: string;
  readonly template: string;
}

/** Pairs of states checked per merge: well under a tenth of a second. The rest counts as overlapping, which is safe. */
const BUDGET = 500_000;

/** One state of a template, as an automaton over characters. */
interface Step {
  /** The character that leads to the next state. Undefined: any character but `stop` leads back to this state. */
  readonly character: string | undefined;
  readonly stop: string;
  /** How many states can be skipped without a character. */
  readonly skip: 0 | 1 | 2;
}

interface TemplateCandidate extends OwnedTemplate {
  /** The literal text that every URI of the template begins with. */
  readonly prefix: string;
  /** Created on demand: the prefixes of most templates differ. */
  readonly steps: () => readonly Step[];
}

/**
 * The templates that share a URI with a template of another backend. Such a URI would not identify its backend, so
 * these templates must name theirs.
 */
export function mayOverlap(templates: readonly OwnedTemplate[]): ReadonlySet<string> {
  const shared = new Set<string>();
  const owners = new Map<string, string>();
  for (const { backend, template } of templates) {
    const owner = owners.get(template);
    if (owner === undefined) owners.set(template, backend);
    else if (owner !== backend) shared.add(template);
  }
  // Sorted by prefix, so that all prefixes that begin with a given one follow it directly.
  const candidates = [...owners]
    .flatMap(([template, backend]) => candidateOf({ backend, template }))
    .sort((a, b) => (a.prefix < b.prefix ? -1 : a.prefix > b.prefix ? 1 : 0));
  let budget = BUDGET;
  candidates.forEach((first, at) => {
    for (let i = at + 1; i < candidates.length; i++) {
      const second = candidates[i] as TemplateCandidate;
      if (!second.prefix.startsWith(first.prefix)) break;
      if (first.backend === second.backend || (shared.has(first.template) && shared.has(second.template))) continue;
      if (budget > 0) {
        const [a, b] = [first.steps(), second.steps()];
        budget -= (a.length + 1) * (b.length + 1);
        if (budget > 0 && !haveCommon(a, b)) continue;
      }
      shared.add(first.template).add(second.template);
    }
  });
  return shared;
}

/** An invalid template matches nothing. */
function candidateOf(owned: OwnedTemplate): TemplateCandidate[] {
  const pieces = readTemplate(owned.template);
  if (pieces === undefined) return [];
  const [first] = pieces;
  const prefix = first !== undefined && 'literal' in first ? first.literal : '';
  let steps: readonly Step[] | undefined;
  return [
    {
      ...owned,
      prefix,
      steps: () => {
        steps ??= pieces.flatMap(stepsOf);
        return steps;
      },
    },
  ];
}

function stepsOf(piece: Piece): Step[] {
  if ('literal' in piece) return [...piece.literal].map((character) => ({ character, stop: '', skip: 0 }));
  const loop: Step = { character: undefined, stop: piece.stop, skip: 1 };
  return piece.lead === '' ? [loop] : [{ character: piece.lead, stop: '', skip: 2 }, loop];
}

/** Whether some text is accepted by both. Every pair of states is visited once. */
function haveCommon(first: readonly Step[], second: readonly Step[]): boolean {
  const width = second.length + 1;
  const seen = new Uint8Array((first.length + 1) * width);
  const open: number[] = [];
  const reach = (i: number, j: number): void => {
    const pair = i * width + j;
    if (seen[pair] === 1) return;
    seen[pair] = 1;
    open.push(pair);
  };
  reach(0, 0);
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const j = pair % width;
    const i = (pair - j) / width;
    const a = first[i];
    const b = second[j];
    if (a === undefined && b === undefined) return true;
    if (a !== undefined && a.skip > 0) reach(i + a.skip, j);
    if (b !== undefined && b.skip > 0) reach(i, j + b.skip);
    if (a === undefined || b === undefined) continue;
    if (a.character === undefined) {
      if (b.character !== undefined && b.character !== a.stop) reach(i, j + 1);
    } else if (b.character === undefined) {
      if (a.character !== b.stop) reach(i + 1, j);
    } else if (a.character === b.character) reach(i + 1, j + 1);
  }
  return false;
}
