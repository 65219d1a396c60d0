/**
 * How contestants take turns at one workload: A B C A B C, so that whatever slows the machine down slows all of them.
 */
import type { Contestant, Place, Running } from '../contestants/contestant.ts';
import { ForeignLoad } from '../foreign-load.ts';
import { Connection } from '../load/connection.ts';
import { legacyRequest, modernRequest } from '../load/requests.ts';
import { type Load, runRound, type Sample } from '../load/round.ts';
import { openSession } from '../load/session.ts';
import type { Options } from '../options.ts';
import type { CallResult, CallRow } from '../results.ts';
import { median, ratioOfMedians, spread } from '../stats.ts';
import type { CallWorkload } from './calls.ts';

export interface Entrant {
  readonly contestant: Contestant;
  readonly running: Running;
}

export interface Turn {
  readonly workload: Pick<CallWorkload, 'warmCalls' | 'roundCalls'>;
  readonly samples: Sample[];
  go(calls: number): Promise<Sample>;
}

interface ContestantTurn extends Turn {
  readonly contestant: Contestant;
}

export type Sizes = Pick<Options, 'rounds' | 'share'>;

export async function takeTurns(
  workload: CallWorkload,
  entrants: readonly Entrant[],
  sizes: Sizes,
): Promise<CallResult> {
  const { id, title, group, connections } = workload;
  const turns: ContestantTurn[] = [];
  for (const entrant of entrants) turns.push(await prepare(workload, entrant));
  const foreignCores = await alternate(turns, sizes);
  const floor = turns.find((turn) => turn.contestant.isFloor);
  return {
    workload: id,
    title,
    group,
    connections,
    foreignCores,
    floor: floor?.contestant.name ?? '',
    rows: turns.map((turn) => rowOf(turn, floor)),
  };
}

/** After a warm-up of each; gives how many cores others used meanwhile. */
export async function alternate(turns: readonly Turn[], { rounds, share }: Sizes): Promise<number> {
  for (const { workload, go } of turns) await go(Math.ceil(workload.warmCalls * share));
  const foreign = new ForeignLoad();
  for (let round = 0; round < rounds; round += 1) {
    // Forth and back: whoever always came second would pay for what the first one left behind.
    for (const { workload, samples, go } of round % 2 === 0 ? turns : turns.toReversed()) {
      samples.push(await go(Math.ceil(workload.roundCalls * share)));
    }
  }
  return foreign.cores();
}

export async function prepare(workload: CallWorkload, { contestant, running }: Entrant): Promise<ContestantTurn> {
  const place = running.at(workload.target);
  const named = (cause: unknown) => {
    const text = cause instanceof Error ? cause.message : String(cause);
    return new Error(`${contestant.name} (${workload.group}) in ${workload.id}: ${text}`, { cause });
  };
  try {
    const load = await loadOf(workload, place);
    const watched = { gateway: place.pid, backends: place.backendPids };
    const go = (calls: number) =>
      runRound(load, watched, calls).catch((cause: unknown) => {
        throw named(cause);
      });
    return { workload, contestant, samples: [], go };
  } catch (cause) {
    throw named(cause);
  }
}

/** A legacy session is opened once, and serves all connections of all rounds. */
export async function loadOf(workload: CallWorkload, place: Place): Promise<Load> {
  const { url, headers } = place;
  const session = workload.target.startsWith('legacy') ? await newSession(url) : undefined;
  const asking = await workload.asking(place);
  return {
    url,
    connections: workload.connections,
    requests: (connection) => {
      const id = connection + 1;
      return asking(connection).map(({ call, expected }) => {
        const bytes =
          session === undefined ? modernRequest(url, id, call, headers) : legacyRequest(url, session, id, call);
        return { id, bytes, expected };
      });
    },
  };
}

async function newSession(url: URL): Promise<string> {
  const connection = await Connection.open(url);
  try {
    return await openSession(url, connection);
  } finally {
    connection.close();
  }
}

function rowOf({ contestant, samples }: ContestantTurn, floor: Turn | undefined): CallRow {
  const cpu = samples.map((sample) => sample.gatewayCpu);
  const least = floor?.samples.map((sample) => sample.gatewayCpu);
  return {
    contestant: contestant.name,
    gatewayCpu: spread(cpu),
    backendCpu: spread(samples.map((sample) => sample.backendCpu)),
    ...(least && { ratio: ratioOfMedians(cpu, least) }),
    callsPerSecond: median(samples.map((sample) => sample.callsPerSecond)),
    p50: median(samples.map((sample) => sample.p50)),
    p99: median(samples.map((sample) => sample.p99)),
    calls: samples.reduce((total, sample) => total + sample.calls, 0),
  };
}
