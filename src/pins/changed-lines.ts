/** Compares two texts of `prettyText` line by line, for a reviewer. */

interface MarkedLine {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** Pairs of lines that are compared to align two texts: they take 8 MiB of memory. */
const MOST_PAIRS = 4 * 1024 * 1024;

/** The lines that were removed or added, as `-` and `+`, each below the lines that it is nested in. */
export function changedLines(before: string, after: string): readonly string[] {
  const shown: string[] = [];
  /** The lines that the current one is nested in. */
  const around: { readonly depth: number; readonly line: MarkedLine; isShown: boolean }[] = [];
  for (const line of alignedLines(linesOf(before), linesOf(after))) {
    const depth = line.text.search(/\S/);
    while ((around.at(-1)?.depth ?? -1) >= depth) around.pop();
    const isChanged = line.mark !== ' ';
    if (isChanged) {
      for (const outer of around) {
        if (!outer.isShown) shown.push(spelled(outer.line));
        outer.isShown = true;
      }
      shown.push(spelled(line));
    }
    around.push({ depth, line, isShown: isChanged });
  }
  return shown;
}

function spelled({ mark, text }: MarkedLine): string {
  return `${mark} ${text}`;
}

/** Commas at the end come and go with the next line. */
function linesOf(text: string): readonly string[] {
  return text.split('\n').map((line) => line.replace(/,$/, ''));
}

function alignedLines(before: readonly string[], after: readonly string[]): readonly MarkedLine[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const old = before.slice(start, before.length - end);
  const now = after.slice(start, after.length - end);
  return [
    ...marked(' ', before.slice(0, start)),
    ...(old.length * now.length <= MOST_PAIRS ? aligned(old, now) : [...marked('-', old), ...marked('+', now)]),
    ...marked(' ', before.slice(before.length - end)),
  ];
}

function marked(mark: MarkedLine['mark'], lines: readonly string[]): readonly MarkedLine[] {
  return lines.map((text) => ({ mark, text }));
}

/** With as many common lines as there can be: the longest common subsequence. */
function aligned(old: readonly string[], now: readonly string[]): readonly MarkedLine[] {
  const width = now.length + 1;
  // By place in both texts: how many lines the rests of them have in common. The shorter one has at most 2,048 lines.
  const common = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] as number;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: MarkedLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ mark: ' ', text: old[i] as string });
      i++;
      j++;
    } else if (j === now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1)))
      lines.push({ mark: '-', text: old[i++] as string });
    else lines.push({ mark: '+', text: now[j++] as string });
  }
  return lines;
}
