/**
 * `npm run bench:peers`: the same small call through Bascule and through other gateways, which are installed from the
 * registries that publish them, into `bench/results/peers`. A gateway that cannot be installed, started or asked is
 * listed with the reason, the others go on, and the run ends with status 1.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildPrograms, resultsDirectory } from './build.ts';
import type { Contestant, PeerGroup } from './contestants/contestant.ts';
import { type Options, readOptions } from './options.ts';
import { agentgateway } from './peers/agentgateway.ts';
import { contextForge } from './peers/contextforge.ts';
import { fastmcp } from './peers/fastmcp.ts';
import { nginx } from './peers/nginx.ts';
import { own } from './peers/own.ts';
import { type Peer, targetOf } from './peers/peer.ts';
import { type PeerResults, writePeerReport } from './peers/report.ts';
import { sparfenyuk } from './peers/sparfenyuk.ts';
import { supergateway } from './peers/supergateway.ts';
import { tbxark } from './peers/tbxark.ts';
import { toolhive } from './peers/toolhive.ts';
import { reasonOf, runProgram, say, statusOf } from './program.ts';
import type { Absent, CallResult } from './results.ts';
import { type CallWorkload, MANY, small } from './workloads/calls.ts';
import { type Entrant, takeTurns, tryOnce } from './workloads/turns.ts';

const peers: readonly Peer[] = [
  ...own,
  nginx,
  tbxark,
  toolhive,
  supergateway,
  fastmcp,
  sparfenyuk,
  contextForge,
  agentgateway,
];

const titles: Readonly<Record<PeerGroup, string>> = {
  'peers-http-legacy': 'HTTP backend: small `tools/call`, 2025-11-25',
  'peers-http-modern': 'HTTP backend: small `tools/call`, 2026-07-28',
  'peers-stdio': 'stdio backend: small `tools/call`, 2025-11-25',
};
const groups = Object.keys(titles) as PeerGroup[];

const usage = `npm run bench:peers -- [options]
  --quick                  fewer calls in fewer rounds, and rougher figures
  --only <group,...>       of ${groups.join(', ')}
  --contestants <name,...> only these, and Bascule, of ${peers.map(({ name }) => name).join(', ')}
  --rounds <n>             of each gateway in each group
  --assert                 end with 1 where a target is missed, with 2 where the machine is too busy to tell
AGENTGATEWAY=<path> names a binary of agentgateway, which no registry has.`;

/** The slowest one loads its code for half a minute on a busy machine. */
const READY_MS = 90_000;
const RETRY_MS = 250;

/** What stays away, and whether that is a failure. */
class Missing {
  readonly absent: Absent[] = [];
  failed = false;

  add({ name, group }: Pick<Contestant, 'name' | 'group'>, why: string, isFailure: boolean): void {
    say(`WITHOUT ${name} (${group}): ${why}`);
    this.absent.push({ contestant: name, group, why });
    this.failed ||= isFailure;
  }
}

async function installAll(wanted: readonly Peer[], missing: Missing): Promise<Map<Peer, string>> {
  const installed = new Map<Peer, string>();
  for (const peer of wanted) {
    const leftOut = peer.leftOut?.();
    const without = (why: string, isFailure: boolean) => {
      for (const contestant of peer.contestants) missing.add(contestant, why, isFailure);
    };
    if (leftOut !== undefined) without(leftOut, false);
    else
      await peer.install().then(
        (version) => void installed.set(peer, version),
        (why: unknown) => without(reasonOf(why), true),
      );
  }
  return installed;
}

/** Some need ten milliseconds for a call. */
const sizes = { warmCalls: 30_000, roundCalls: 1000 } as const;

function workloadOf(group: PeerGroup): CallWorkload {
  return { id: group, title: titles[group], group, target: targetOf[group], connections: MANY, ...small, ...sizes };
}

/** With the first right answer to each connection. */
async function enter(workload: CallWorkload, contestant: Contestant): Promise<Entrant> {
  const running = await contestant.start({ targets: [workload.target], nodeArgs: [] });
  const entrant = { contestant, running };
  const deadline = Date.now() + READY_MS;
  for (;;) {
    try {
      await tryOnce(workload, entrant);
      return entrant;
    } catch (why) {
      if (Date.now() > deadline) {
        await running.stop();
        throw why;
      }
      await sleep(RETRY_MS);
    }
  }
}

async function runGroup(
  workload: CallWorkload,
  contestants: readonly Contestant[],
  options: Options,
  missing: Missing,
): Promise<CallResult> {
  const entrants: Entrant[] = [];
  const lost = (contestant: Contestant, why: unknown) => missing.add(contestant, reasonOf(why), true);
  try {
    for (const contestant of contestants) {
      say(`${workload.id}: ${contestant.name} ...`);
      await enter(workload, contestant).then(
        (entrant) => void entrants.push(entrant),
        (why: unknown) => lost(contestant, why),
      );
    }
    say(`${workload.id} ...`);
    return await takeTurns(workload, entrants, options, { lost });
  } finally {
    await Promise.all(entrants.map(({ running }) => running.stop()));
  }
}

async function run(options: Options, missing: Missing): Promise<PeerResults> {
  await buildPrograms();
  const isWanted = ({ name }: Peer) => options.contestants.length === 0 || options.contestants.includes(name);
  const isOwn = ({ contestants }: Peer) => contestants.some(({ isFloor }) => isFloor);
  const installed = await installAll(
    peers.filter((peer) => isWanted(peer) || isOwn(peer)),
    missing,
  );
  const calls: CallResult[] = [];
  for (const group of groups.filter((one) => options.only.length === 0 || options.only.includes(one))) {
    const present = [...installed.keys()].flatMap(({ contestants }) =>
      contestants.filter((one) => one.group === group),
    );
    calls.push(await runGroup(workloadOf(group), present, options, missing));
  }
  return {
    node: process.versions.node,
    cores: availableParallelism(),
    date: new Date().toISOString(),
    rounds: options.rounds,
    profiled: undefined,
    absent: missing.absent,
    versions: Object.fromEntries([...installed].map(([{ name }, version]) => [name, version])),
    calls,
    opening: [],
    idle: [],
    starts: undefined,
  };
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    say(usage);
    return 0;
  }
  const options = readOptions(
    args,
    groups,
    peers.map(({ name }) => name),
  );
  const missing = new Missing();
  const results = await run(options, missing);
  const report = writePeerReport(results);
  mkdirSync(resultsDirectory, { recursive: true });
  writeFileSync(join(resultsDirectory, 'peers.md'), report);
  writeFileSync(join(resultsDirectory, 'peers.json'), `${JSON.stringify(results, null, 2)}\n`);
  process.stdout.write(report);
  if (missing.failed) return 1;
  return options.assert ? statusOf(results) : 0;
}

runProgram(main);
