/**
 * Whether a URI may be an expansion of a URI template (RFC 6570). An expression matches any text of the form that its
 * operator allows, so the match is generous: the backend decides what its template really means.
 */

/** Literal text, or an expression. */
export type Piece = { readonly literal: string } | Expression;

export interface Expression {
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
export function readTemplate(template: string): readonly Piece[] | undefined {
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
