/**
 * Other people's software through the gateway, compared with the same software without it.
 *
 *   tsx tests/interop/run.ts [--long] [--only <pattern>] [--jobs <n>]
 *
 * Installs what it needs into `.cache/` (pinned, once), takes a fixed script of operations with each pair of a client
 * and a server, and compares the two transcripts. They are equal, or differ as `differences.ts` allows. What cannot be
 * installed or run is a failure, unless `reasons.ts` has it. Transcripts and logs are in `.cache/results/`. The long
 * form tries all pairs and writes `docs/interop.md`. Needs a built gateway, Python 3.11, Go, and Rust (long form).
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Cell, groupsOf, titleOf } from './cells.ts';
import { GroupRun, type Tried } from './group.ts';
import { install, whyMissing } from './install.ts';
import { judge, type Verdict } from './judge.ts';
import { plan } from './plan.ts';
import { printSummary, printVerdict, writePage } from './report.ts';
import { CACHE } from './software.ts';

const { values: options } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    only: { type: 'string' },
    jobs: { type: 'string', default: '2' },
  },
});

/** Two groups at a time: one waits for processes to start while the other works. */
async function tryAll(cells: readonly Cell[], report: (tried: Tried) => void): Promise<void> {
  const groups = groupsOf(cells);
  const worker = async (): Promise<void> => {
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      await new GroupRun(group, join(CACHE, 'results')).run(report);
    }
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, worker));
}

async function main(): Promise<number> {
  const { only, long } = options;
  const wanted = plan(long).filter((cell) => only === undefined || new RegExp(only).test(titleOf(cell)));
  await mkdir(CACHE, { recursive: true });
  const failures = await install(wanted.flatMap(({ client, server }) => [client.needs, server.needs]));
  const verdicts: Verdict[] = [];
  const report = (tried: Tried): void => {
    const verdict = judge(tried);
    verdicts.push(verdict);
    printVerdict(verdict);
  };
  const present = wanted.filter(({ client, server }) => {
    return ![client.needs, server.needs].some((set) => whyMissing(failures, set) !== undefined);
  });
  await tryAll(present, report);
  if (long && only === undefined) await writePage(verdicts, failures);
  return printSummary(verdicts, failures, long && only === undefined);
}

process.exitCode = await main();
