/**
 * The official conformance kit against our fixtures, directly and through the gateway.
 *
 *   tsx tests/conformance/run.ts [--only <row or fixture>] [--spec <revision>] [--scenario <name>]
 *                                [--direct] [--gateway '<command>'] [--jobs <n>] [--replicas <n>]
 *
 * Fails unless every scenario passes through the gateway, with no warning, skipped or missing check that the direct run
 * of the same fixture does not have. Where the two sides speak different eras, the direct run is that of a fixture
 * which speaks the kit's; what cannot be had there is excused by name, with the reason (rows.ts). What the kit and the
 * processes said is in results/<row>/<direct or through>/. A run through the gateway that leaves no scenario out is a
 * proof for the catalogue of requirements. With `--replicas 3` the gateway is three processes behind a balancer that
 * goes in turn: the same has to come of it, and most requests of sessions have to reach a process that does not own
 * them.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Proof, writeProofs } from '../requirements/proofs.ts';
import type { Deviation } from './judge.ts';
import { judgeAgainst, judgeAlone, passedScenarios, withoutExcused } from './judge.ts';
import type { Column } from './report.ts';
import { formatMatrix } from './report.ts';
import type { Row } from './rows.ts';
import { ROWS, SCENARIOS } from './rows.ts';
import type { Run } from './runs.ts';
import { Runner } from './runs.ts';

const RESULTS = fileURLToPath(new URL('./results/', import.meta.url));

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    spec: { type: 'string' },
    scenario: { type: 'string' },
    direct: { type: 'boolean', default: false },
    gateway: { type: 'string', default: 'node bin/bascule.js serve' },
    replicas: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(Math.min(2, availableParallelism())) },
  },
});

const replicas = Number(options.replicas);
/** With less, a sticky balancer could have done it. */
const LEAST_ELSEWHERE = 0.5;

interface Outcome {
  readonly row: Row;
  readonly direct: Run;
  readonly through: Run | undefined;
  readonly expected: number;
  readonly deviations: readonly Deviation[];
}

function isWanted(row: Row): boolean {
  if (row.isBridge && options.direct) return false;
  const isNamed = options.only === undefined || row.id === options.only || row.fixture === options.only;
  return isNamed && (options.spec === undefined || row.spec === options.spec);
}

function judge(row: Row, direct: Run, through: Run | undefined, expected: number): Deviation[] {
  const deviations: Deviation[] = [];
  for (const [way, run] of Object.entries({ direct, through })) {
    if (!run) continue;
    const least = way === 'through' ? expected - failuresExcused(row) : expected;
    const found = run.failure === undefined ? judgeAlone(run.result, least) : [{ message: run.failure }];
    deviations.push(...found.map((deviation) => ({ ...deviation, message: `${way}: ${deviation.message}` })));
  }
  const { elsewhere } = through ?? {};
  if (elsewhere !== undefined && elsewhere <= LEAST_ELSEWHERE && row.spec === '2025-11-25')
    deviations.push({ message: `the balancer sent most requests of sessions to their owner: ${percent(elsewhere)}` });
  if (through && through.failure === undefined) deviations.push(...judgeAgainst(direct.result, through.result));
  return options.scenario === undefined && through ? withoutExcused(deviations, row.excuses) : deviations;
}

/** Scenarios that fail for a reason that is known. */
function failuresExcused({ excuses }: Row): number {
  const failing = excuses.filter(({ message }) => message.startsWith('through: failed'));
  return new Set(failing.map(({ scenario }) => scenario)).size;
}

async function runRow(runner: Runner, row: Row): Promise<Outcome> {
  const [direct, through] = await Promise.all([
    runner.direct(row.baseline, row.spec),
    options.direct ? undefined : runner.through(row.fixture, row.spec),
  ]);
  // A scenario that was asked for by name may not exist at this revision; then there is nothing to pass.
  const expected = options.scenario === undefined ? SCENARIOS[row.spec] : direct.result.size;
  return { row, direct, through, expected, deviations: judge(row, direct, through, expected) };
}

function printMatrices(outcomes: readonly Outcome[]): void {
  for (const spec of Object.keys(SCENARIOS)) {
    const columns: Column[] = [];
    for (const { row, direct, through } of outcomes) {
      if (row.spec !== spec) continue;
      if (!row.isBridge) columns.push({ title: `${row.fixture} direct`, result: direct.result });
      if (through) {
        columns.push({ title: `${row.fixture} through`, result: through.result, baseline: direct.result });
      }
    }
    if (columns.some(({ result }) => result.size > 0)) console.log(`${formatMatrix(spec, columns)}\n`);
  }
}

function printRow({ row, direct, through, expected, deviations }: Outcome): void {
  const score = (way: string, { result, seconds }: Run): string =>
    `${way} ${passedScenarios(result)}/${expected} in ${seconds.toFixed(1)} s`.padEnd(28);
  const verdict = deviations.length === 0 ? 'ok' : 'DEVIATES';
  const scores = [score(`${row.baseline} direct`, direct), ...(through ? [score('through', through)] : [])];
  const { elsewhere = 0 } = through ?? {};
  if (elsewhere > 0) scores.push(`${percent(elsewhere)} of the requests of sessions not at their owner`);
  console.log([row.id.padEnd(18), ...scores, verdict].join('  '));
  for (const { scenario, message } of deviations) console.log(`    ${scenario ? `${scenario}: ` : ''}${message}`);
  if (through)
    for (const { scenario, message, why } of row.excuses) console.log(`    excused: ${scenario}: ${message}: ${why}`);
}

/** Scenarios of the rows that are judged. A run without a result has failed all of its scenarios. */
function totals(outcomes: readonly Outcome[]): { passed: number; failed: number } {
  const total = { passed: 0, failed: 0 };
  for (const { row, direct, through, deviations } of outcomes) {
    const { result, failure } = through ?? direct;
    const all = failure === undefined ? Math.max(result.size, direct.result.size) : SCENARIOS[row.spec];
    const deviating = new Set(deviations.flatMap(({ scenario }) => scenario ?? []));
    const failed = failure === undefined ? deviating.size : all;
    total.failed += failed;
    total.passed += all - failed;
  }
  return total;
}

/** What a row that is judged shows of the requirement for its revision. */
function proofOf({ row, deviations }: Outcome): Proof {
  const gateway = replicas > 1 ? `${replicas} replicas` : 'the gateway';
  return {
    title: `the kit for ${row.spec}, with a ${row.fixture} server behind ${gateway}`,
    passed: deviations.length === 0,
    verifies: [row.isBridge ? `gateway:conformance:bridge-${row.spec}` : `gateway:conformance:kit-${row.spec}`],
  };
}

const percent = (part: number): string => `${Math.round(part * 100)} %`;

async function main(): Promise<number> {
  const startTime = Date.now();
  const rows = ROWS.filter(isWanted);
  if (rows.length === 0) {
    console.error(`no such row; there are ${ROWS.map(({ id }) => id).join(', ')}`);
    return 2;
  }
  await rm(RESULTS, { recursive: true, force: true });
  await mkdir(RESULTS, { recursive: true });
  const { gateway, jobs, scenario } = options;
  const runner = new Runner({
    ...{ resultsDir: RESULTS, gateway: gateway.split(' '), scenario, jobs: Number(jobs), replicas },
  });
  const outcomes = await Promise.all(rows.map((row) => runRow(runner, row)));
  const summary = outcomes.map(({ row, deviations }) => ({ ...row, deviations }));
  await writeFile(join(RESULTS, 'summary.json'), JSON.stringify(summary, null, 2));

  printMatrices(outcomes);
  for (const outcome of outcomes) printRow(outcome);
  if (!options.direct && scenario === undefined) {
    await writeProofs(replicas > 1 ? 'conformance-replicas' : 'conformance', {
      file: 'tests/conformance/run.ts',
      startTime,
      proofs: outcomes.map(proofOf),
    });
  }
  const { passed, failed } = totals(outcomes);
  console.log(`\n${passed} passed, ${failed} failed`);
  const hasRun = outcomes.some(({ direct }) => direct.result.size > 0);
  if (!hasRun) console.error('nothing ran directly: see kit.log and fixture.log in tests/conformance/results');
  return hasRun && outcomes.every(({ deviations }) => deviations.length === 0) ? 0 : 1;
}

process.exitCode = await main();
