import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Report, TestFile } from './report.ts';
import { judgeReports, readReport, reportRules } from './report.ts';

const here = dirname(fileURLToPath(import.meta.url));

/** Runs the sample tests with the vitest that is installed, as a user would. */
async function runSamples(): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'bascule-report-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const output = join(folder, 'report.json');
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const root = join(here, 'fixture');
  const args = [vitest, 'run', '--root', root, '--reporter=json', `--outputFile.json=${output}`];
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
  // The samples fail on purpose, and so does the run.
  await new Promise<void>((done) => {
    execFile(process.execPath, args, { env: Object.fromEntries(inherited) }, () => done());
  });
  return readReport(await readFile(output, 'utf8'), root);
}

describe('the report of a run', () => {
  it('contains each test with its declared ids and its outcome', { timeout: 60_000 }, async () => {
    const { evidence, files, unreadable } = await runSamples();
    const file = 'declared.sample.ts';
    const diverges: string[] = [];
    expect([...files].sort()).toEqual([file, 'unreadable.sample.ts']);
    expect(unreadable).toEqual(['unreadable.sample.ts']);
    expect(evidence).toEqual([
      { file, title: 'first row', outcome: 'passed', verifies: ['ping:client-to-server'], diverges },
      { file, title: 'second row', outcome: 'passed', verifies: ['ping:server-to-client', 'lifecycle:ping'], diverges },
      { file, title: 'group inherits', outcome: 'passed', verifies: ['tools:list:basic'], diverges },
      { file, title: 'group replaces', outcome: 'passed', verifies: ['tools:list:metadata'], diverges },
      { file, title: 'pins', outcome: 'passed', verifies: [], diverges: ['protocol:progress:monotonic'] },
      { file, title: 'is skipped', outcome: 'skipped', verifies: ['tools:list:basic'], diverges },
      { file, title: 'fails', outcome: 'failed', verifies: ['tools:list:basic'], diverges },
      { file, title: 'declares nothing', outcome: 'passed', verifies: [], diverges },
    ]);
  });

  it('is refused where it is something else', () => {
    expect(() => readReport('{"success":true}', here)).toThrow();
    expect(() => readReport('', here)).toThrow();
  });
});

const report: Report = { startTime: 1000, files: ['tests/a.test.ts'], unreadable: [], evidence: [] };
const current: TestFile = { file: 'tests/a.test.ts', changed: 900, text: "it('works', () => undefined)" };

/** Not written out, or this file would be refused itself. */
const expectedToFail = ['it', 'fails'].join('.');

const cases = [
  { name: 'is content with a report of all the tests', reports: [report], files: [current], expect: [] },
  {
    name: 'is content with two reports that have all the tests between them',
    reports: [report, { ...report, files: ['tests/b.test.ts'] }],
    files: [current, { ...current, file: 'tests/b.test.ts' }],
    expect: [],
  },
  {
    name: 'misses a file that was not run',
    reports: [report],
    files: [current, { ...current, file: 'tests/b.test.ts' }],
    expect: ['not-run tests/b.test.ts'],
  },
  {
    name: 'rejects a report that is older than the test',
    reports: [report],
    files: [{ ...current, changed: 1001 }],
    expect: ['changed-since tests/a.test.ts'],
  },
  {
    name: 'takes the newer of two reports',
    reports: [report, { ...report, startTime: 2000 }],
    files: [{ ...current, changed: 1001 }],
    expect: [],
  },
  {
    name: 'refuses a file that could not be loaded',
    reports: [{ ...report, unreadable: ['tests/a.test.ts'] }],
    files: [current],
    expect: ['unreadable tests/a.test.ts'],
  },
  {
    name: 'refuses tests that pass by failing',
    reports: [report],
    files: [{ ...current, text: `${expectedToFail}('not yet', () => undefined)` }],
    expect: ['expected-failure tests/a.test.ts'],
  },
];

describe('the judgement of reports', () => {
  for (const { name, reports, files, expect: expected } of cases) {
    it(name, () => {
      expect(judgeReports(reports, files).map(({ rule, subject }) => `${rule} ${subject}`)).toEqual(expected);
    });
  }

  it('has a case that breaks each of its rules', () => {
    const broken = new Set(cases.flatMap(({ expect: expected }) => expected.map((line) => line.split(' ')[0])));
    expect([...broken].sort()).toEqual(Object.keys(reportRules).sort());
  });
});
