/** Text -> syntax tree, or syntax errors. One parser reads both syntaxes, so that both have positions. */
import { type Document, isMap, isScalar, parseAllDocuments } from 'yaml';
import { type Syntax, wordingOf } from './syntax.ts';

/** Offsets in the text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

export interface Parsed {
  readonly document?: Document.Parsed;
  /** Whether the tree can be trusted to tell keys from values. */
  readonly sound: boolean;
  readonly faults: readonly SyntaxFault[];
}

export interface SyntaxFault {
  /** Absent if the fault is about the whole file. */
  readonly span?: TextSpan;
  readonly message: string;
  readonly expected?: string;
}

/** 10,000 rules of 400 characters each. The parser takes some seconds for that. */
const mostCharacters = 4 * 1024 * 1024;

export function parseText(text: string, syntax: Syntax): Parsed {
  if (text.length > mostCharacters) {
    return unsound({ message: 'the file is too large', expected: 'at most 4 MiB' });
  }
  const source = syntax === 'json' ? withoutComments(text) : { text };
  if (source.unclosed !== undefined) {
    const what = text[source.unclosed] === '"' ? 'a quote is missing on this line' : 'the comment has no end';
    return unsound({ span: from(source.unclosed), message: what });
  }
  const documents = parseAll(source.text);
  if (documents === undefined) return unsound({ message: `the file can't be read as ${syntax.toUpperCase()}` });
  const [document, second] = documents;
  // Later errors mostly follow from the first one.
  const broken = document?.errors.find(({ code }) => code !== 'DUPLICATE_KEY') ?? document?.warnings[0];
  if (broken !== undefined) {
    const [start, end] = broken.pos;
    return unsound({ span: { start, end }, ...wordingOf(broken.code, syntax) });
  }
  if (document === undefined || isEmpty(document)) return unsound({ message: 'the file is empty' });
  if (second !== undefined) return unsound({ span: from(second.range[0]), ...wordingOf('MULTIPLE_DOCS', syntax) });
  const root = document.contents;
  if (syntax === 'json' && !(isMap(root) && root.flow)) {
    return unsound({
      span: from(root?.range[0] ?? 0),
      message: 'this is not valid JSON',
      expected: 'an object: `{ ... }`',
    });
  }
  return { document, sound: true, faults: document.errors.map(({ pos }) => duplicate(text, pos[0])) };
}

function parseAll(text: string): Document.Parsed[] | undefined {
  try {
    return [...parseAllDocuments(text, { prettyErrors: false, uniqueKeys: true, schema: 'core' })] as Document.Parsed[];
  } catch {
    // The parser limits its own recursion, and throws only in unexpected states.
    return undefined;
  }
}

function unsound(fault: SyntaxFault): Parsed {
  return { sound: false, faults: [fault] };
}

function from(start: number): TextSpan {
  return { start, end: start + 1 };
}

function duplicate(text: string, start: number): SyntaxFault {
  const written = /^(["']?)([^"':\n]*)\1/.exec(text.slice(start, start + 200));
  const span = { start, end: start + Math.max(1, written?.[0].length ?? 1) };
  return { span, message: `\`${written?.[2]?.trim() ?? ''}\` is repeated` };
}

function isEmpty({ contents }: Document.Parsed): boolean {
  return contents === null || (isScalar(contents) && contents.value === null && contents.source === '');
}

const jsonLiteral = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** YAML accepts more than JSON, and reads some of it differently: `"C:\apps"` would contain a bell character. */
export function isJsonScalar(source: string): boolean {
  if (!source.startsWith('"')) return jsonLiteral.test(source);
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false;
  }
}

/** A string, which ends on its own line; a comment; or the start of one of them that has no end. */
const token = /"(?:\\[\s\S]|[^"\\\n])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|"|\/\*/g;

/**
 * JSON with `//` and block comments, as clients' files contain them. The parser accepts trailing commas but no
 * comments, so comments are replaced by spaces, and every other character keeps its position. `unclosed`: the position
 * of the first unterminated comment or string.
 */
function withoutComments(text: string): { readonly text: string; readonly unclosed?: number } {
  const pieces: string[] = [];
  let copied = 0;
  for (const { 0: found, index } of text.matchAll(token)) {
    if (found === '"' || found === '/*') return { text, unclosed: index };
    if (found.startsWith('"')) continue;
    pieces.push(text.slice(copied, index), found.replaceAll(/[^\r\n]/g, ' '));
    copied = index + found.length;
  }
  return { text: pieces.join('') + text.slice(copied) };
}
