/** What was proven by other means than vitest, in the form in which the gate reads it (see report.ts). */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { RequirementId } from './catalogue.ts';

export interface Proof {
  readonly title: string;
  readonly passed: boolean;
  readonly verifies: readonly RequirementId[];
}

export interface Proofs {
  /** Who proves it, relative to the root of the project. */
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly startTime: number;
  readonly proofs: readonly Proof[];
}

/** One report for each name; a new one takes the place of the old. */
export async function writeProofs(name: string, { file, startTime, proofs }: Proofs): Promise<void> {
  const assertionResults = proofs.map(({ title, passed, verifies }) => ({
    fullName: title,
    status: passed ? 'passed' : 'failed',
    meta: { verifies },
  }));
  const status = proofs.every(({ passed }) => passed) ? 'passed' : 'failed';
  const report = { startTime, testResults: [{ name: file, status, assertionResults }] };
  await writeFile(fileURLToPath(new URL(`./.report.${name}.json`, import.meta.url)), JSON.stringify(report, null, 2));
}
