/**
 * `npm run bench:growth`: how costs grow with the number of backends, rules, sessions and tools, and with the size of
 * messages; what of it is flat, what is linear, and whether anything is more than that.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPrograms, resultsDirectory, root } from './build.ts';
import type { Axis, GrowthSizes, KeptResult } from './growth/axis.ts';
import { backends } from './growth/backends.ts';
import { drawChart } from './growth/chart.ts';
import { payloads } from './growth/payloads.ts';
import { sourceLine, writeGrowthReport } from './growth/report.ts';
import { rules } from './growth/rules.ts';
import { sessions } from './growth/sessions.ts';
import { tools } from './growth/tools.ts';
import { judge } from './growth/verdict.ts';
import { runProgram, say } from './program.ts';

const axes: readonly Axis[] = [backends, rules, sessions, payloads, tools];

const full: GrowthSizes = { rounds: 10, share: 1, starts: 3, quick: false };
const quick: GrowthSizes = { rounds: 4, share: 0.4, starts: 1, quick: true };

const usage = `npm run bench:growth -- [options]
  --quick            fewer values and rounds, and rougher figures
  --only <axis,...>  only these: ${axes.map(({ name }) => name).join(', ')}
  --rounds <n>       of each value
  --write-docs       write docs/benchmarks-growth.md and docs/charts, of this run and of earlier ones
  --assert           end with 1 where a cost grows faster than it may, with 2 where the machine is too busy to tell`;

function readOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      rounds: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
      assert: { type: 'boolean', default: false },
    },
  });
  const wanted = values.only?.split(',') ?? axes.map(({ name }) => name);
  const unknown = wanted.find((name) => !axes.some((axis) => axis.name === name));
  if (unknown !== undefined) throw new Error(`no axis ${unknown}\n${usage}`);
  const sizes = values.quick ? quick : full;
  const rounds = Number(values.rounds ?? sizes.rounds);
  if (!(rounds > 0)) throw new Error(`--rounds needs a number above 0, not ${values.rounds}`);
  return { wanted, sizes: { ...sizes, rounds }, writeDocs: values['write-docs'], assert: values.assert };
}

/** Those of earlier runs stay, until their axis is measured again. */
function keep(measured: readonly KeptResult[]): KeptResult[] {
  const file = join(resultsDirectory, 'growth.json');
  const earlier = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as KeptResult[]) : [];
  const all = axes.flatMap(({ name }) => [...measured, ...earlier].find(({ axis }) => axis === name) ?? []);
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
  return all;
}

function writeCharts(results: readonly KeptResult[], folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const result of results) {
    writeFileSync(join(folder, `${result.axis}.svg`), drawChart(result, sourceLine(result)));
  }
}

function outcomeOf(results: readonly KeptResult[]): number {
  const outcomes = results.flatMap((result) => judge(result).map(({ outcome }) => outcome));
  if (outcomes.includes('MISSED') || results.some(({ absent }) => absent.length > 0)) return 1;
  return outcomes.includes('too busy') ? 2 : 0;
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    say(usage);
    return 0;
  }
  const { wanted, sizes, writeDocs, assert } = readOptions(args);
  await buildPrograms();
  const about = { node: process.versions.node, cores: availableParallelism(), rounds: sizes.rounds };
  const measured: KeptResult[] = [];
  for (const axis of axes.filter(({ name }) => wanted.includes(name))) {
    say(`${axis.name} ...`);
    measured.push({ ...(await axis.measure(sizes)), ...about, date: new Date().toISOString() });
  }
  const all = keep(measured);
  writeFileSync(join(resultsDirectory, 'growth.md'), writeGrowthReport(all));
  writeCharts(all, join(resultsDirectory, 'charts'));
  if (writeDocs) {
    writeCharts(all, join(root, 'docs/charts'));
    const page = writeGrowthReport(all, (name) => `charts/${name}.svg`);
    writeFileSync(join(root, 'docs/benchmarks-growth.md'), page);
  }
  process.stdout.write(writeGrowthReport(measured));
  return assert ? outcomeOf(measured) : 0;
}

runProgram(main);
