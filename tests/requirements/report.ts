/**
 * Reads what a run of tests left behind. The format is that of vitest's JSON reporter, of which we use little: whoever
 * proves something by other means (the conformance kit) can write the same, `{ startTime, testResults: [{ name, status,
 * assertionResults: [{ fullName, status, meta: { verifies: [] } }] }] }`, into a report of its own.
 */
import { isAbsolute, relative, sep } from 'node:path';
import { z } from 'zod';
import type { Evidence, Violation } from './gate.ts';

const reportSchema = z.object({
  /** Milliseconds since 1970. */
  startTime: z.number(),
  testResults: z.array(
    z.object({
      /** The file. */
      name: z.string(),
      status: z.enum(['passed', 'failed']),
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          meta: z
            .object({ verifies: z.array(z.string()).default([]), diverges: z.array(z.string()).default([]) })
            .default({ verifies: [], diverges: [] }),
        }),
      ),
    }),
  ),
});

export interface Report {
  readonly startTime: number;
  /** Files that the run looked at, those without a test included. */
  readonly files: readonly string[];
  /** Files that could not be loaded: what is in them is unknown. */
  readonly unreadable: readonly string[];
  readonly evidence: readonly Evidence[];
}

export function readReport(text: string, root: string): Report {
  const { startTime, testResults } = reportSchema.parse(JSON.parse(text));
  const results = testResults.map((result) => ({ ...result, file: within(root, result.name) }));
  return {
    startTime,
    files: results.map(({ file }) => file),
    unreadable: results
      .filter(({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0)
      .map(({ file }) => file),
    evidence: results.flatMap(({ file, assertionResults }) =>
      assertionResults.map(({ fullName, status, meta }) => ({
        file,
        title: fullName.trim(),
        outcome: status === 'passed' || status === 'failed' ? status : ('skipped' as const),
        ...meta,
      })),
    ),
  };
}

function within(root: string, path: string): string {
  return (isAbsolute(path) ? relative(root, path) : path).split(sep).join('/');
}

/** A test file as it is on the disk now. */
export interface TestFile {
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly changed: number;
  readonly text: string;
}

/** What makes reports useless as a proof, and what to do about it. */
export const reportRules = {
  'not-run': 'a test file that no report knows: run all the tests',
  'changed-since': 'a test file that was changed after it was run: run the tests again',
  unreadable: 'a test file that could not be loaded',
  'expected-failure': 'a test that is expected to fail passes for the wrong reason: use diverges() instead of .fails',
} as const;

export type ReportRule = keyof typeof reportRules;

/**
 * Whether the reports tell of the tests that there are, and tell the truth: a gate that reads half a report lets half
 * through.
 */
export function judgeReports(reports: readonly Report[], files: readonly TestFile[]): Violation<ReportRule>[] {
  const found: Violation<ReportRule>[] = reports.flatMap(({ unreadable }) =>
    unreadable.map((subject) => ({ rule: 'unreadable' as const, subject })),
  );
  for (const { file, changed, text } of files) {
    const runs = reports.filter((report) => report.files.includes(file));
    if (runs.length === 0) found.push({ rule: 'not-run', subject: file });
    else if (runs.every((report) => report.startTime < changed)) found.push({ rule: 'changed-since', subject: file });
    // The report shows such a test as passed, so that only the source can tell.
    if (/\b(?:it|test)\.fails\b/.test(text)) found.push({ rule: 'expected-failure', subject: file });
  }
  return found;
}
