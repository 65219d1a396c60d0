/** "Did you mean": the valid spelling that is closest to a wrong one. */

/** Longer words are not typos, and the cost of the distance is the product of the lengths. */
const longestWord = 64;

/** The closest candidate whose distance is within a third of the word's length; the first of equals. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > longestWord) return undefined;
  const folded = fold(word);
  const allowed = Math.max(1, Math.floor(word.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    if (candidate.length > longestWord || candidate === word) continue;
    const edits = editDistance(folded, fold(candidate));
    // A truncated word (`batch` for `batches`) is not a typo, but its meaning is clear.
    const distance = word.length >= 4 && fold(candidate).startsWith(folded) ? Math.min(edits, allowed) : edits;
    if (distance <= allowed && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** `max_processes`, `max-processes` and `maxProcesses` are the same word in three styles. */
function fold(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let distance = Math.min(last[j]! + 1, current[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, beforeLast[j - 2]! + 1);
      }
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length]!;
}
