/**
 * `npm run bench`: what Bascule costs, beside the least that a gateway can cost and beside another one. Contestants
 * take turns in short rounds, so that whatever slows the machine down slows all of them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { buildPrograms, resultsDirectory } from './build.ts';
import { contestants } from './contestants/all.ts';
import type { Contestant, Group, Target } from './contestants/contestant.ts';
import { type Options, readOptions, usage } from './options.ts';
import { runProgram, say, statusOf } from './program.ts';
import { writeReport } from './report.ts';
import type { Absent, CallResult, IdleRow, Results } from './results.ts';
import { type CallWorkload, callWorkloads } from './workloads/calls.ts';
import { measureIdle } from './workloads/idle.ts';
import { measureOpening } from './workloads/opening.ts';
import { measureStarts } from './workloads/startup.ts';
import { type EarlierSamples, type Entrant, takeTurns } from './workloads/turns.ts';

const groups: readonly Group[] = [
  ...(['http', 'stdio', 'lists', 'among', 'identity', 'policy', 'usual', 'observe', 'traces', 'edges'] as const),
];
const workloadNames = [...callWorkloads.map(({ id }) => id), 'opening', 'idle', 'start'];

function nodeArgsFor({ name, group }: Contestant, profile: string | undefined): string[] {
  if (name !== profile) return [];
  return ['--cpu-prof', `--cpu-prof-dir=${join(resultsDirectory, 'profiles', `${name}-${group}`)}`];
}

async function runCalls(
  present: readonly Contestant[],
  workloads: readonly CallWorkload[],
  options: Options,
): Promise<CallResult[]> {
  const results: CallResult[] = [];
  const targets: Target[] = [...new Set(workloads.map(({ target }) => target))];
  if (targets.length === 0) return results;
  const earlier = new Map(workloads.map((workload) => [workload, new Map() as EarlierSamples]));
  const sizes = { ...options, rounds: Math.ceil(options.rounds / STARTS) };
  for (let start = 0; start < STARTS; start += 1) {
    results.length = 0;
    const entrants: Entrant[] = [];
    try {
      for (const contestant of present) {
        const nodeArgs = nodeArgsFor(contestant, options.profile);
        entrants.push({ contestant, running: await contestant.start({ targets, nodeArgs }) });
      }
      for (const workload of workloads) {
        say(`${workload.id} ...`);
        results.push(await takeTurns(workload, entrants, sizes, { earlier: earlier.get(workload) as EarlierSamples }));
      }
    } finally {
      await Promise.all(entrants.map(({ running }) => running.stop()));
    }
  }
  return results;
}

/** How often the contestants of calls are started, each time for a part of the rounds. */
const STARTS = 2;

async function run(options: Options): Promise<Results> {
  const cores = availableParallelism();
  await buildPrograms();
  const isWanted = (name: string, isOnRequest = false) =>
    options.only.length === 0 ? !isOnRequest : options.only.includes(name);
  const absent: Absent[] = [];
  const present = contestants.filter((contestant) => {
    const { name, group, isFloor, missing } = contestant;
    if (options.contestants.length > 0 && !isFloor && !options.contestants.includes(name)) return false;
    const why = missing?.();
    if (why !== undefined) absent.push({ contestant: name, group, why });
    return why === undefined;
  });
  for (const { contestant, group, why } of absent) say(`WITHOUT ${contestant} (${group}): ${why}`);

  const calls: CallResult[] = [];
  for (const group of groups) {
    const workloads = callWorkloads.filter(
      (workload) => workload.group === group && isWanted(workload.id, workload.isOnRequest),
    );
    calls.push(
      ...(await runCalls(
        present.filter((contestant) => contestant.group === group),
        workloads,
        options,
      )),
    );
  }
  // What stands behind a contestant of the other groups says nothing new here.
  const single = present.filter(({ group }) => group === 'http' || group === 'stdio');
  // Behind the other floors nothing ends a session. The backend by itself is no gateway.
  const opening = isWanted('opening')
    ? await measureOpening(
        present.filter(({ name, group }) => group === 'http' && name !== 'direct'),
        options.rounds,
      )
    : [];
  const idle: IdleRow[] = [];
  if (isWanted('idle')) {
    say('idle ...');
    for (const contestant of single) idle.push(await measureIdle(contestant, options.sessions));
  }
  if (isWanted('start')) say('start ...');
  const starts = isWanted('start') ? await measureStarts(single, options.starts) : undefined;
  return {
    node: process.versions.node,
    cores,
    date: new Date().toISOString(),
    rounds: options.rounds,
    profiled: options.profile,
    absent,
    calls,
    opening,
    idle,
    starts,
  };
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    say(`${usage}\n\nWorkloads: ${workloadNames.join(', ')}`);
    return 0;
  }
  const names = [...new Set(contestants.map(({ name }) => name))];
  const options = readOptions(args, workloadNames, names);
  const begun = Date.now();
  const results = await run(options);
  const report = writeReport(results);
  mkdirSync(resultsDirectory, { recursive: true });
  writeFileSync(join(resultsDirectory, 'latest.md'), report);
  writeFileSync(join(resultsDirectory, 'latest.json'), `${JSON.stringify(results, null, 2)}\n`);
  process.stdout.write(report);
  say(`\n${Math.round((Date.now() - begun) / 1000)} s; also in bench/results/latest.md and latest.json`);
  return options.assert ? statusOf(results) : 0;
}

runProgram(main);
