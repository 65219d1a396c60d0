/** Runs `doctor` and `check` without a terminal. */
import type { CheckOptions, CheckReport } from '../../../src/doctor/check/run.ts';
import { runChecks } from '../../../src/doctor/check/run.ts';
import { diagnose, type StepReport } from '../../../src/doctor/diagnose.ts';
import type { DoctorOptions, Target } from '../../../src/doctor/visit.ts';
import { DEADLINE_MS } from '../harness/client.ts';

const usual = { eras: ['modern', 'legacy'], timeoutMs: DEADLINE_MS } as const;

export function at(url: string, headers: Readonly<Record<string, string>> = {}): Target {
  return { kind: 'http', url, headers };
}

export function doctor(target: Target, more: Partial<DoctorOptions> = {}): Promise<StepReport[]> {
  const quiet = { register: false, login: false, openPage: () => undefined };
  return diagnose({ target, ...usual, ...quiet, ...more }, () => undefined);
}

export function check(target: Target, more: Partial<CheckOptions> = {}): Promise<CheckReport[]> {
  return runChecks({ target, ...usual, ...more }, () => undefined);
}

/** The failed steps, each with its finding. */
export function failures(reports: readonly StepReport[]): readonly string[] {
  return reports.filter(({ state }) => state === 'failed').map(({ step, failure }) => `${step}: ${failure?.finding}`);
}

/** The ids of broken checks, each with its level. */
export function broken(reports: readonly CheckReport[]): readonly string[] {
  return [
    ...new Set(
      reports.filter(({ outcome }) => outcome === 'broken').map(({ id, level, era }) => `${era} ${id} ${level}`),
    ),
  ];
}

/** What is not as it should be, with the bytes: for the message of a failing test. */
export function complaints(reports: readonly CheckReport[]): readonly string[] {
  return reports
    .filter(({ outcome }) => outcome === 'broken')
    .map(({ era, id, found, bytes }) => `${era} ${id}: ${found}\n${bytes?.sent}\n${bytes?.received}`);
}
