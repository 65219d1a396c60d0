/** The problems of a config file: all at once, each with its position and what was expected. */

export interface Problem {
  readonly file: string;
  /** Starts at 1; 0 if the problem concerns the whole file. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly expected?: string;
  readonly didYouMean?: string;
  readonly excerpt?: Excerpt;
}

/** The line with everything hidden that may be a secret, and the part to underline. */
export interface Excerpt {
  readonly text: string;
  /** Starts at 1, within `text`, which may be a part of a very long line. */
  readonly column: number;
  readonly width: number;
}

/** With more problems than this, a reader starts again from the top. */
const mostPrinted = 50;

export class ConfigError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const sorted = [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
    super(formatProblems(sorted));
    this.name = 'ConfigError';
    this.problems = sorted;
  }

  format(): string {
    return formatProblems(this.problems);
  }
}

function formatProblems(problems: readonly Problem[]): string {
  const shown = problems.slice(0, mostPrinted).map(formatProblem);
  if (problems.length > mostPrinted) shown.push(`and ${problems.length - mostPrinted} more problems`);
  return shown.join('\n\n');
}

function formatProblem(problem: Problem): string {
  const place = problem.line === 0 ? problem.file : `${problem.file}:${problem.line}:${problem.column}`;
  const lines = [`${printable(place)}: ${printable(problem.message)}`];
  const { excerpt } = problem;
  if (excerpt !== undefined) {
    const number = String(problem.line);
    // Keep the tabs before the mark, so that it aligns with the text above in any terminal.
    const indent = excerpt.text.slice(0, excerpt.column - 1).replaceAll(/[^\t]/g, ' ');
    lines.push(`  ${number} | ${excerpt.text}`);
    lines.push(`  ${' '.repeat(number.length)} | ${indent}${'^'.repeat(Math.max(1, excerpt.width))}`);
  }
  if (problem.expected !== undefined) lines.push(`  expected ${printable(problem.expected)}`);
  if (problem.didYouMean !== undefined) lines.push(`  did you mean \`${printable(problem.didYouMean)}\`?`);
  return lines.join('\n');
}

/** Replaces control characters that a terminal would interpret. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
