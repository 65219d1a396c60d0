/**
 * Whether a URI may have come out of a URI template (RFC 6570). An expression stands for any text that has the form which
 * its operator gives, so the answer is generous: the backend decides what its template really means.
 */

/** A piece of literal text, or the place of an expression. */
export type Piece = { readonly literal: string } | Expression;

export interface Expression {
  /** What an expansion begins with, where it is not empty. Empty: nothing special. */
  readonly lead: string;
  /** The character that it cannot have. Empty: it can have all. */
  readonly stop: string;
}

/** Longer than any address that goes through the web's own software. */
const URI_LENGTH = 8_192;
const TEMPLATE_LENGTH = 2_048;
/** Matching costs so many passes over the URI at most. */
const EXPRESSIONS = 32;

/** Section 2.2. Values are percent-encoded there, slashes too; people who fill in by hand keep to no more than this. */
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
/** Section 2.3 has stricter names than servers do. What it keeps for later is refused: nobody knows what it would stand for. */
const VARIABLES = /^[^{}=,!@|][^{}]*$/;

/** Undefined where it is no template: braces that do not match, an operator that does not exist, more than the limits. */
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
  // Several values, each with a slash before it.
  if (operator?.lead === '/' && (isList || variables.includes(','))) return { lead: '/', stop: '' };
  // Widespread servers take `{path*}` for a whole path.
  return operator ?? (isList ? { lead: '', stop: '' } : simple);
}

export function matchesTemplate(template: string, uri: string): boolean {
  if (uri.length > URI_LENGTH) return false;
  const open = template.indexOf('{');
  // Most templates are told apart by how they begin.
  if (open > 0 && !uri.startsWith(template.slice(0, open))) return false;
  const pieces = readTemplate(template);
  if (pieces === undefined) return false;
  // Where in the URI the pieces so far may end. All ways are followed at once, so nothing is ever tried twice.
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
  // Without a value there is nothing, not even the lead.
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
