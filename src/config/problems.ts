/** What is wrong with a config file, told so that it can be mended in one go: all of it, with place and remedy. */

export interface Problem {
  readonly file: string;
  /** From 1; 0 where the file as a whole is meant. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly expected?: string;
  readonly didYouMean?: string;
  readonly excerpt?: Excerpt;
}

/** The line in question, with everything hidden that might be a secret, and how much of it to underline. */
export interface Excerpt {
  readonly text: string;
  /** From 1, in `text`, which may be a window of a very long line. */
  readonly column: number;
  readonly width: number;
}

/** Beyond this, a reader starts from the top again anyway. */
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
    // The tabs before the mark are kept, so that it stands where the reader's terminal puts the text above it.
    const indent = excerpt.text.slice(0, excerpt.column - 1).replaceAll(/[^\t]/g, ' ');
    lines.push(`  ${number} | ${excerpt.text}`);
    lines.push(`  ${' '.repeat(number.length)} | ${indent}${'^'.repeat(Math.max(1, excerpt.width))}`);
  }
  if (problem.expected !== undefined) lines.push(`  expected ${printable(problem.expected)}`);
  if (problem.didYouMean !== undefined) lines.push(`  did you mean \`${printable(problem.didYouMean)}\`?`);
  return lines.join('\n');
}

/** A file can hold what a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
