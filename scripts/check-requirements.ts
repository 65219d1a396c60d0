/**
 * The gate of the requirement catalogue.
 *
 *     tsx scripts/check-requirements.ts [--report FILE]...   hold the catalogue against the reports of the last runs
 *     tsx scripts/check-requirements.ts --write              write docs/requirements.md
 *     tsx scripts/check-requirements.ts --check              fail where docs/requirements.md is stale
 *
 * Without --report it reads every tests/requirements/.report*.json. A run leaves one behind with `vitest run
 * --reporter=default --reporter=json --outputFile.json=tests/requirements/.report.json`.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { catalogue } from '../tests/requirements/catalogue.ts';
import { document, terminalTable } from '../tests/requirements/document.ts';
import { settledFamilies } from '../tests/requirements/families.ts';
import type { Violation } from '../tests/requirements/gate.ts';
import { judge, rules, tally } from '../tests/requirements/gate.ts';
import type { TestFile } from '../tests/requirements/report.ts';
import { judgeReports, readReport, reportRules } from '../tests/requirements/report.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, 'docs', 'requirements.md');
const reportFolder = join(root, 'tests', 'requirements');

/** Tests that talk to a running gateway exist to prove something, so each of them says what. */
const taggedFolders = ['tests/interaction', 'tests/clients'];

function main(): number {
  const { values } = parseArgs({
    options: {
      report: { type: 'string', multiple: true },
      write: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
    },
  });
  if (values.write) {
    writeFileSync(page, document(catalogue));
    return 0;
  }
  return values.check ? checkPage() : gate(values.report?.map((file) => resolve(file)) ?? reportsOnDisk());
}

function checkPage(): number {
  if (existsSync(page) && readFileSync(page, 'utf8') === document(catalogue)) return 0;
  console.error('docs/requirements.md is stale: run tsx scripts/check-requirements.ts --write');
  return 1;
}

function gate(files: readonly string[]): number {
  if (files.length === 0) {
    console.error('No report of a test run in tests/requirements: run the tests first.');
    return 1;
  }
  const reports = files.map((file) => readReport(readFileSync(file, 'utf8'), root));
  const violations: Violation<string>[] = [
    ...judgeReports(reports, testFiles()),
    ...judge(
      catalogue,
      reports.flatMap(({ evidence }) => evidence),
      { settled: settledFamilies, tagged: taggedFolders },
    ),
  ];
  console.log(terminalTable(tally(catalogue)));
  for (const [rule, meaning] of Object.entries({ ...reportRules, ...rules })) {
    const found = violations.filter((violation) => violation.rule === rule);
    if (found.length > 0) console.error(`\n${rule} (${found.length}): ${meaning}\n${found.map(line).join('\n')}`);
  }
  console.log(violations.length === 0 ? '\nThe catalogue is proven.' : `\n${violations.length} failures.`);
  return violations.length === 0 ? 0 : 1;
}

function line({ subject, detail }: Violation<string>): string {
  return detail === undefined ? `  ${subject}` : `  ${subject}  (${detail})`;
}

function reportsOnDisk(): string[] {
  return readdirSync(reportFolder)
    .filter((name) => /^\.report.*\.json$/.test(name))
    .map((name) => join(reportFolder, name));
}

function testFiles(): TestFile[] {
  return readdirSync(join(root, 'tests'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => {
      const path = join(root, 'tests', name);
      return {
        file: `tests/${name.replaceAll('\\', '/')}`,
        changed: statSync(path).mtimeMs,
        text: readFileSync(path, 'utf8'),
      };
    });
}

process.exitCode = main();
