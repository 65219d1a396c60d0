/**
 * Joins the backends' instructions into one text with headings. Clients put it into a model's prompt, so its length
 * costs every request.
 */

/** About a thousand tokens: more than the instructions of common servers, less than a manual. */
const BACKEND_LENGTH = 4_000;
/** About five thousand tokens for the whole endpoint, not counting headings and remarks. */
const TOTAL_LENGTH = 20_000;
/** A text that would be cut to less than this is left out entirely. */
const LEAST_LENGTH = 200;

export function joinInstructions(
  parts: readonly { readonly backend: string; readonly text: string }[],
): string | undefined {
  let left = TOTAL_LENGTH;
  const sections: string[] = [];
  const omitted: string[] = [];
  for (const { backend, text: whole } of parts) {
    const text = whole.trim();
    if (text === '') continue;
    const room = Math.min(BACKEND_LENGTH, left);
    if (text.length > room && room < LEAST_LENGTH) {
      omitted.push(backend);
      continue;
    }
    const kept = text.length <= room ? text : shorten(text, room);
    left -= kept.length;
    const remark = kept.length === text.length ? '' : `\n\n[Cut here: ${kept.length} of ${text.length} characters]`;
    sections.push(`## ${backend}\n\n${kept}${remark}`);
  }
  if (omitted.length > 0) sections.push(`[Left out, for length: the instructions of ${omitted.join(', ')}]`);
  return sections.length === 0 ? undefined : sections.join('\n\n');
}

/** Cuts at a line or else a word, unless that would cost half of the text; never inside a character. */
function shorten(text: string, length: number): string {
  const cut = text.slice(0, length);
  const line = cut.lastIndexOf('\n');
  const word = cut.lastIndexOf(' ');
  const end = line >= length / 2 ? line : word >= length / 2 ? word : length;
  return cut
    .slice(0, end)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();
}
