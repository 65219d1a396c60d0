/**
 * Puts into docs/bridging.md what the last run of the bridge matrix saw, and the table of what older revisions get
 * instead.
 *
 *     tsx scripts/write-bridging-doc.ts           write
 *     tsx scripts/write-bridging-doc.ts --check   fail where the page says anything else
 *
 * The outcomes stand in the reports of the run, tests/requirements/.report*.json: see
 * tests/interaction/matrix/cells.ts.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { olderRows } from '../src/bridge/revision-compat.ts';
import { revisions } from '../src/wire/revisions.ts';
import type { Cell } from '../tests/interaction/matrix/cells.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, 'docs', 'bridging.md');
const reports = join(root, 'tests', 'requirements');
const matrix = join('tests', 'interaction', 'matrix');

const cellSchema = z.object({
  table: z.enum(['features', 'revisions']),
  row: z.string(),
  place: z.number(),
  column: z.string(),
  over: z.string(),
  words: z.string(),
}) satisfies z.ZodType<Cell>;

const reportSchema = z.object({
  startTime: z.number(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ meta: z.object({ cell: cellSchema.optional() }).default({}) })),
    }),
  ),
});

/** Of each file of the matrix, what its newest run saw. A file that did not run, or failed, leaves nothing to print. */
function readCells(): readonly Cell[] {
  const runs = readdirSync(reports)
    .filter((name) => /^\.report.*\.json$/.test(name))
    .map((name) => reportSchema.parse(JSON.parse(readFileSync(join(reports, name), 'utf8'))))
    .sort((one, other) => other.startTime - one.startTime)
    .flatMap(({ testResults }) => testResults);
  const files = readdirSync(join(root, matrix)).filter((name) => name.endsWith('.test.ts'));
  return files.flatMap((file) => {
    const run = runs.find(({ name }) => basename(name) === file && name.includes(matrix));
    if (run?.status !== 'passed') throw new Error(`${join(matrix, file)} did not run, or failed: npm test`);
    return run.assertionResults.flatMap(({ meta }) => meta.cell ?? []);
  });
}

/** The rows, in their order. */
function rowsOf(cells: readonly Cell[]): readonly string[] {
  return unique([...cells].sort((one, other) => one.place - other.place).map(({ row }) => row));
}

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** One outcome, or each of them with where it was seen. */
function merged(cells: readonly Cell[], preposition: string, where: (cell: Cell) => string): string {
  const words = unique(cells.map((cell) => cell.words));
  if (words.length <= 1) return words[0] ?? '—';
  return words
    .map((one) => {
      const places = cells.filter((cell) => cell.words === one).map(where);
      return `${preposition} ${places.join(', ')}: ${one}`;
    })
    .join('<br>');
}

function featureTable(cells: readonly Cell[]): string {
  const columns = unique(cells.map(({ column }) => column));
  const rows = rowsOf(cells).map((row) => [
    row,
    ...columns.map((column) =>
      merged(
        cells.filter((cell) => cell.row === row && cell.column === column),
        'over',
        ({ over }) => over,
      ),
    ),
  ]);
  return table(['', ...columns.map((column) => column.replace(', ', ',<br>'))], rows);
}

const clientOf = ({ column }: Cell) => column.split(', ')[0];
const backendOf = ({ column }: Cell) => column.split(', ')[1] ?? '';

function revisionTable(cells: readonly Cell[]): string {
  const rows = rowsOf(cells).map((row) => {
    const own = cells.filter((cell) => cell.row === row);
    const backends = revisions.filter((revision) => own.some((cell) => backendOf(cell) === revision));
    return [
      row,
      backends.length === 1 ? `${backends[0]} alone` : `since ${backends[0]}`,
      ...revisions.map((client) =>
        merged(
          own.filter((cell) => clientOf(cell) === client),
          'from',
          backendOf,
        ),
      ),
    ];
  });
  return table(['', 'backends that have it', ...revisions.map((client) => `client ${client}`)], rows);
}

const kinds = [
  { word: 'work', begins: 'works' },
  { word: 'degraded', begins: 'degraded' },
  { word: 'refused', begins: 'refused' },
] as const;

function pairTable(cells: readonly Cell[]): string {
  const rows = revisions.map((client) => [
    `**client ${client}**`,
    ...revisions.map((backend) => {
      const own = cells.filter((cell) => clientOf(cell) === client && backendOf(cell) === backend);
      return kinds
        .map(({ word, begins }) => ({ word, count: own.filter(({ words }) => words.startsWith(begins)).length }))
        .filter(({ count }) => count > 0)
        .map(({ word, count }) => `${count} ${word}`)
        .join(', ');
    }),
  ]);
  return table(['', ...revisions.map((backend) => `backend ${backend}`)], rows);
}

function olderTable(): string {
  const rows = olderRows.map(({ what, since, instead }) => [what, since, instead]);
  return table(['what', 'since', 'a client of an older revision'], rows);
}

function write(text: string, sections: Readonly<Record<string, string>>): string {
  return Object.entries(sections).reduce((so, [name, section]) => {
    const begin = `<!-- generated: ${name} -->`;
    const end = `<!-- end: ${name} -->`;
    const [before, rest, ...more] = so.split(begin);
    const after = rest?.split(end)[1];
    if (after === undefined || more.length > 0) throw new Error(`${page} needs ${begin} and ${end}, once`);
    return `${before}${begin}\n\n${section}\n\n${end}${after}`;
  }, text);
}

function main(): void {
  const cells = readCells();
  const ofTable = (name: Cell['table']) => cells.filter((cell) => cell.table === name);
  const before = readFileSync(page, 'utf8');
  const after = write(before, {
    features: featureTable(ofTable('features')),
    pairs: pairTable(ofTable('revisions')),
    revisions: revisionTable(ofTable('revisions')),
    older: olderTable(),
  });
  if (!process.argv.includes('--check')) writeFileSync(page, after);
  else if (before !== after) throw new Error('docs/bridging.md is stale: tsx scripts/write-bridging-doc.ts');
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
