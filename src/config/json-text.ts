/**
 * JSON with `//` and block comments, as clients' files contain them. The parser accepts trailing commas but no
 * comments, so comments are replaced by spaces, and every other character keeps its position.
 */

/** A string, which ends on its own line; a comment; or the start of one of them that has no end. */
const token = /"(?:\\[\s\S]|[^"\\\n])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|"|\/\*/g;

/** `unclosed`: the position of the first unterminated comment or string. */
export function withoutComments(text: string): { readonly text: string; readonly unclosed?: number } {
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
