/**
 * JSON as these files are really written: with `//` and block comments. The reader behind this takes trailing commas as
 * they are but knows neither kind of comment, so they are painted over, and every other character keeps its place.
 */

export interface JsonText {
  readonly text: string;
  /** Where the first comment or string begins that has no end. */
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

/** A string ends on its own line; one that does not lacks its quote. */
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
