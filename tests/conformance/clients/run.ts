/**
 * The official conformance kit's scenarios for clients, with the gateway as the client.
 *
 *   tsx tests/conformance/clients/run.ts [--only <row>] [--scenario <name>] [--jobs <n>]
 *
 * Fails unless every scenario passes, with no warning: what cannot be had is excused by name, with the reason
 * (rows.ts). A scenario in which the kit checked nothing at all has not passed. What the kit, the client and the
 * gateway said is in results/clients/<row>/<scenario>/.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeProofs } from '../../requirements/proofs.ts';
import { count, type Deviation, withoutExcused } from '../judge.ts';
import { type Check, KIT, PRELOAD } from '../kit.ts';
import { ROOT } from '../processes.ts';
import { type ClientRow, ROWS } from './rows.ts';

const RESULTS = fileURLToPath(new URL('../results/clients/', import.meta.url));
/** Three processes are started for each, and some scenarios wait on purpose. */
const SCENARIO_LIMIT_MS = 60_000;
const KIT_LIMIT_MS = SCENARIO_LIMIT_MS + 15_000;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    scenario: { type: 'string' },
    jobs: { type: 'string', default: '2' },
  },
});

interface Played {
  readonly scenario: string;
  readonly checks: readonly Check[];
  readonly deviations: readonly Deviation[];
}

async function play({ id, spec }: ClientRow, scenario: string): Promise<Played> {
  const folder = join(RESULTS, id, scenario.replace('/', '-'));
  await mkdir(folder, { recursive: true });
  const client = [process.execPath, '--import', 'tsx', 'tests/conformance/clients/client.ts', join(folder, 'gateway')];
  const args = ['client', '--command', client.join(' '), '--scenario', scenario, '--spec-version', spec, '--force'];
  // Extensions are of no revision.
  const kit = [...args, '--timeout', String(SCENARIO_LIMIT_MS), '-o', join(folder, 'kit')];
  const child = spawn(process.execPath, ['--import', PRELOAD, KIT, ...kit], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: KIT_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  await writeFile(join(folder, 'kit.log'), said);
  const checks = await readChecks(join(folder, 'kit'));
  return { scenario, checks, deviations: judge(scenario, checks, code) };
}

async function readChecks(folder: string): Promise<readonly Check[]> {
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  const file = files.find((name) => name.endsWith('checks.json'));
  return file === undefined ? [] : (JSON.parse(await readFile(join(folder, file), 'utf8')) as Check[]);
}

function judge(scenario: string, checks: readonly Check[], code: number | null): readonly Deviation[] {
  const found = checks.flatMap(({ id, status, errorMessage = 'no reason given' }): Deviation[] =>
    status === 'FAILURE' || status === 'WARNING' ? [{ scenario, message: `${status} ${id}: ${errorMessage}` }] : [],
  );
  if (found.length === 0 && code !== 0) return [{ scenario, message: 'the client failed: see kit.log' }];
  if (count(checks, 'SUCCESS') === 0 && found.length === 0) return [{ scenario, message: 'nothing was checked' }];
  return found;
}

async function playAll(row: ClientRow): Promise<readonly Played[]> {
  const waiting = row.scenarios.filter((name) => options.scenario === undefined || name === options.scenario);
  const played: Played[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) played.push(await play(row, next));
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, work));
  return played;
}

async function main(): Promise<number> {
  const startTime = Date.now();
  const rows = ROWS.filter(({ id }) => options.only === undefined || id === options.only);
  await rm(RESULTS, { recursive: true, force: true });
  let failures = 0;
  const proofs = [];
  for (const row of rows) {
    const played = await playAll(row);
    const all = played.flatMap(({ deviations }) => deviations);
    const left = options.scenario === undefined ? withoutExcused(all, row.excuses) : all;
    for (const { scenario, checks } of played) {
      const wrong = left.filter((deviation) => deviation.scenario === scenario);
      const excused = wrong.length === 0 && row.excuses.some((excuse) => excuse.scenario === scenario);
      const verdict = wrong.length > 0 ? 'DEVIATES' : excused ? 'excused' : 'ok';
      console.log(`${row.id}  ${scenario.padEnd(38)} ${verdict}  ${count(checks, 'SUCCESS')} checks`);
      for (const { message } of wrong) console.log(`    ${message}`);
    }
    const failed = new Set(left.map(({ scenario }) => scenario));
    failures += failed.size;
    const deviating = new Set(all.map(({ scenario }) => scenario));
    const excused = deviating.size - [...deviating].filter((scenario) => failed.has(scenario)).length;
    const passed = played.length - deviating.size;
    console.log(`${row.id}: ${passed} of ${played.length} scenarios passed, ${excused} are excused\n`);
    const title = `the kit's scenarios for clients, ${row.id}, with the gateway as the client`;
    proofs.push({ title, passed: failed.size === 0, verifies: ['gateway:credentials:kit'] as const });
  }
  if (options.scenario === undefined && options.only === undefined) {
    await writeProofs('conformance-clients', { file: 'tests/conformance/clients/run.ts', startTime, proofs });
  }
  return failures === 0 && rows.length > 0 ? 0 : 1;
}

process.exitCode = await main();
