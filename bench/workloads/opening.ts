/**
 * Opening legacy sessions as a client does: `initialize`, `notifications/initialized` and the GET stream. What counts
 * is the CPU of the gateway until nothing is left to do, so that work which it puts off counts as well. The sessions of
 * a round are ended before the next one, which is not counted.
 */
import type { Contestant, Place, Running } from '../contestants/contestant.ts';
import { ForeignLoad } from '../foreign-load.ts';
import { type IdleSession, openSessions, overConnections } from '../load/idle-sessions.ts';
import { deleteRequest } from '../load/requests.ts';
import { ratioOfPairs, type Spread, spread } from '../stats.ts';
import { cpuMicros, settle } from '../system.ts';

/** Enough for the idle timers of the settling to be nothing beside them. */
const SESSIONS = 200;
/**
 * Rounds that do not count. Code that runs once for a session is compiled late: with `--trace-opt` the gateway still
 * optimized some ten functions in each of the rounds 8 to 13, and none after the 15th. Its CPU time fell by another
 * tenth until the 40th.
 */
const WARM_ROUNDS = 40;

export interface OpeningRow {
  readonly contestant: string;
  /** Microseconds of CPU for one session. */
  readonly gatewayCpu: Spread;
  /** CPU against that of the floor in the same round. */
  readonly ratio: Spread;
  /** How many cores others used meanwhile. */
  readonly foreignCores: number;
}

interface Turn {
  readonly contestant: Contestant;
  readonly running: Running;
  readonly samples: number[];
}

export async function measureOpening(contestants: readonly Contestant[], rounds: number): Promise<OpeningRow[]> {
  const turns: Turn[] = [];
  try {
    for (const contestant of contestants)
      turns.push({ contestant, running: await contestant.start({ targets: ['legacy'], nodeArgs: [] }), samples: [] });
    for (let round = 0; round < WARM_ROUNDS; round += 1) await takeRound(turns);
    for (const { samples } of turns) samples.length = 0;
    const foreign = new ForeignLoad();
    for (let round = 0; round < rounds; round += 1) await takeRound(turns);
    return rowsOf(turns, foreign.cores());
  } finally {
    await Promise.all(turns.map(({ running }) => running.stop()));
  }
}

async function takeRound(turns: readonly Turn[]): Promise<void> {
  for (const { running, samples } of turns) samples.push(await openOnce(running.at('legacy')));
}

function rowsOf(turns: readonly Turn[], foreignCores: number): OpeningRow[] {
  const floor = turns.find(({ contestant }) => contestant.isFloor)?.samples ?? [];
  return turns.map(({ contestant, samples }) => ({
    contestant: contestant.name,
    gatewayCpu: spread(samples),
    ratio: ratioOfPairs(samples, floor),
    foreignCores,
  }));
}

async function openOnce({ url, pid }: Place): Promise<number> {
  await settle(pid);
  const opened: IdleSession[] = [];
  const before = cpuMicros(pid);
  await openSessions(url, SESSIONS, opened);
  await settle(pid);
  const cpu = cpuMicros(pid) - before;
  for (const { stream } of opened) stream.close();
  await overConnections(url, opened.length, async (connection, index) => {
    await connection.ask(deleteRequest(url, (opened[index] as IdleSession).id));
  });
  return cpu / SESSIONS;
}
