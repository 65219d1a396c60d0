/**
 * How contestants take turns at one workload: A B C A B C, so that whatever slows the machine down slows all of them.
 */
import type { Contestant, Place, Running } from '../contestants/contestant.ts';
import { ForeignLoad } from '../foreign-load.ts';
import { Connection } from '../load/connection.ts';
import { legacyRequest, modernRequest } from '../load/requests.ts';
import { type Load, runRound, type Sample } from '../load/round.ts';
import { introduce, openSession } from '../load/session.ts';
import type { Options } from '../options.ts';
import type { CallResult, CallRow } from '../results.ts';
import { differenceOfPairs, median, ratioOfPairs, spread } from '../stats.ts';
import type { CallWorkload } from './calls.ts';

export interface Entrant {
  readonly contestant: Contestant;
  readonly running: Running;
}

export interface Turn {
  readonly workload: Pick<CallWorkload, 'warmCalls' | 'roundCalls'>;
  readonly samples: Sample[];
  /** Of the calls that the workload names: some are too slow for all of them. */
  readonly share?: number | undefined;
  go(calls: number): Promise<Sample>;
}

interface ContestantTurn extends Turn {
  readonly contestant: Contestant;
}

/** What becomes of a contestant that fails: the run ends, unless it is said that the others go on. */
export type Lost = (contestant: Contestant, why: unknown) => void;

/** What the same contestants did before, in other processes. Two processes of one program can differ by a tenth. */
export type EarlierSamples = Map<Contestant, readonly Sample[]>;

export type Sizes = Pick<Options, 'rounds' | 'share'>;

export async function takeTurns(
  workload: CallWorkload,
  entrants: readonly Entrant[],
  sizes: Sizes,
  { earlier, lost }: { readonly earlier?: EarlierSamples; readonly lost?: Lost } = {},
): Promise<CallResult> {
  const { id, title, group, connections } = workload;
  const entered: ContestantTurn[] = [];
  for (const entrant of entrants) {
    try {
      entered.push(await prepare(workload, entrant));
    } catch (why) {
      if (lost === undefined) throw why;
      lost(entrant.contestant, why);
    }
  }
  const { turns, foreignCores } = await alternate(
    entered,
    sizes,
    lost && (({ contestant }, why) => lost(contestant, why)),
  );
  for (const { contestant, samples } of turns) {
    samples.unshift(...(earlier?.get(contestant) ?? []));
    earlier?.set(contestant, [...samples]);
  }
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

function endTheRun(_turn: Turn, why: unknown): void {
  throw why;
}

/** After a warm-up of each; gives those that did not fail, and how many cores others used meanwhile. */
export async function alternate<T extends Turn>(
  entered: readonly T[],
  { rounds, share }: Sizes,
  lost: (turn: T, why: unknown) => void = endTheRun,
): Promise<{ readonly turns: readonly T[]; readonly foreignCores: number }> {
  let turns = entered;
  const take = async (turn: T, calls: number): Promise<Sample | undefined> => {
    try {
      return await turn.go(Math.ceil(calls * share * (turn.share ?? 1)));
    } catch (why) {
      lost(turn, why);
      turns = turns.filter((one) => one !== turn);
      return undefined;
    }
  };
  for (const turn of turns) await take(turn, turn.workload.warmCalls);
  const foreign = new ForeignLoad();
  for (let round = 0; round < rounds; round += 1) {
    // Forth and back: whoever always came second would pay for what the first one left behind.
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) {
      const sample = await take(turn, turn.workload.roundCalls);
      if (sample !== undefined) turn.samples.push(sample);
    }
  }
  return { turns, foreignCores: foreign.cores() };
}

/** Whether it gives the right answer to each connection; throws where it does not. */
export async function tryOnce(workload: CallWorkload, entrant: Entrant): Promise<void> {
  await (await prepare(workload, entrant)).go(1);
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
    return { workload, contestant, samples: [], share: contestant.share, go };
  } catch (cause) {
    throw named(cause);
  }
}

/** A legacy session is opened once, and serves all connections of all rounds. */
export async function loadOf(workload: CallWorkload, place: Place): Promise<Load> {
  const { url, headers } = place;
  const isLegacy = workload.target.startsWith('legacy');
  const session = isLegacy ? await newSession(place) : undefined;
  const asking = await workload.asking(place);
  return {
    url,
    connections: workload.connections,
    requests: (connection) => {
      const id = connection + 1;
      return asking(connection).map(({ call, expected }) => {
        const bytes = isLegacy ? legacyRequest(url, session, id, call) : modernRequest(url, id, call, headers);
        return { id, bytes, expected };
      });
    },
  };
}

async function newSession({ url, withoutSessions }: Place): Promise<string | undefined> {
  const connection = await Connection.open(url);
  try {
    return await (withoutSessions ? introduce : openSession)(url, connection);
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
    cpuByRound: cpu,
    ...(least && { more: differenceOfPairs(cpu, least) }),
    backendCpu: spread(samples.map((sample) => sample.backendCpu)),
    treeCpu: spread(samples.map((sample) => sample.gatewayCpu + sample.backendCpu)),
    ...(least && { ratio: ratioOfPairs(cpu, least) }),
    callsPerSecond: median(samples.map((sample) => sample.callsPerSecond)),
    p50: median(samples.map((sample) => sample.p50)),
    p99: median(samples.map((sample) => sample.p99)),
    rssMb: Math.max(...samples.map((sample) => sample.rssMb)),
    calls: samples.reduce((total, sample) => total + sample.calls, 0),
  };
}
