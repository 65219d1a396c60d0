/**
 * JSON with `//` and block comments, as clients' files contain them. The parser accepts trailing commas but no
 * comments, so comments are replaced by spaces, and every other character keeps its position.
 */

export interface JsonText {
  readonly text: string;
  /** The position of the first unterminated comment or string. */
  readonly unclosed?: number;
}

export function withoutComments(text: string): JsonText {
  const pieces: string[] = [];
  let copied = 0;
  let at = 0;
  const paintOver = (from: number, to: number): void => {
    pieces.push(text.slice(copied, from), text.slice(from, to).replaceAll(/[^\r\n]/g, ' '));
    copied = to;
  };
  while (at < text.length) {
    if (text[at] === '"') {
      const end = endOfString(text, at);
      if (end === undefined) return { text, unclosed: at };
      at = end;
    } else if (text.startsWith('//', at)) {
      const end = endOfLine(text, at);
      paintOver(at, end);
      at = end;
    } else if (text.startsWith('/*', at)) {
      const close = text.indexOf('*/', at + 2);
      if (close === -1) return { text, unclosed: at };
      paintOver(at, close + 2);
      at = close + 2;
    } else {
      at++;
    }
  }
  return { text: pieces.join('') + text.slice(copied) };
}

/** A string must end on its own line; otherwise its quote is missing. */
function endOfString(text: string, start: number): number | undefined {
  let at = start + 1;
  while (at < text.length && text[at] !== '\n') {
    if (text[at] === '"') return at + 1;
    at += text[at] === '\\' ? 2 : 1;
  }
  return undefined;
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end === -1 ? text.length : end;
}
