/** Legacy sessions that do nothing but hold a GET stream open: what one more of them costs in memory. */
import { pathToFileURL } from 'node:url';
import { programPath } from '../build.ts';
import type { Contestant, Place } from '../contestants/contestant.ts';
import { Connection } from '../load/connection.ts';
import { type IdleSession, openSessions } from '../load/idle-sessions.ts';
import { legacyRequest } from '../load/requests.ts';
import { Verifier } from '../load/verify.ts';
import { makeTools } from '../programs/payloads.ts';
import type { IdleRow } from '../results.ts';
import { type Memory, memoryOf, settle } from '../system.ts';

/**
 * What one more session costs is the growth over the last two thirds. V8's new space grows with the first sessions:
 * `v8.getHeapSpaceStatistics()` of the pass-through had 8 MB with a hundred sessions, and 33 MB with one, two and three
 * thousand. An operator pays that once, however many sessions follow.
 */
const EARLY = 1 / 3;
/** The very first also pay for code that is loaded and compiled, so they are not counted at all. */
const UNCOUNTED = 1 / 30;
/** What one garbage collection finalises the next one frees. */
const PASSES = 2;

interface Reading extends Memory {
  readonly sessions: number;
}

function growth(from: Reading, to: Reading): number {
  return (to.anonymous - from.anonymous) / (to.sessions - from.sessions);
}

/** For the process whose memory is read. */
export function collectingOnSignal(): string[] {
  return ['--expose-gc', '--import', pathToFileURL(programPath('gc-on-signal')).href];
}

export async function measureIdle(contestant: Contestant, sessions: number): Promise<IdleRow> {
  const nodeArgs = collectingOnSignal();
  const running = await contestant.start({ targets: ['legacy'], nodeArgs, shared: true, sessions });
  const opened: IdleSession[] = [];
  try {
    const place = running.at('legacy');
    const grow = async (total: number): Promise<Reading> => {
      await openSessions(place.url, total - opened.length, opened);
      return { sessions: opened.length, ...(await readMemory(place.pid)) };
    };
    const first = await grow(Math.ceil(sessions * UNCOUNTED));
    const early = await grow(Math.ceil(sessions * EARLY));
    const all = await grow(sessions);
    const upstreamStreams = await streamsBehind(place);
    await checkAlive(place.url, opened);
    return {
      contestant: contestant.name,
      group: contestant.group,
      sessions,
      kbEach: growth(early, all),
      earlyKbEach: growth(first, early),
      rssMb: all.resident / 1024,
      upstreamStreams,
    };
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${contestant.name} (${contestant.group}) with idle sessions: ${text}`, { cause });
  } finally {
    for (const { stream } of opened) stream.close();
    await running.stop();
  }
}

/** After a garbage collection: what is held, not what has merely not been thrown away yet. */
export async function readMemory(pid: number): Promise<Memory> {
  await settle(pid);
  for (let pass = 0; pass < PASSES; pass += 1) {
    process.kill(pid, 'SIGUSR2');
    await settle(pid);
  }
  return memoryOf(pid);
}

async function streamsBehind({ backendStats }: Place): Promise<number | undefined> {
  if (backendStats === undefined) return undefined;
  const answer = await fetch(backendStats);
  return ((await answer.json()) as { streams: number }).streams;
}

/** Memory that was saved by dropping sessions does not count. */
export async function checkAlive(url: URL, opened: readonly IdleSession[]): Promise<void> {
  const closed = opened.filter(({ stream }) => !stream.isOpen).length;
  if (closed > 0) throw new Error(`${closed} of ${opened.length} streams were closed`);
  const connection = await Connection.open(url);
  try {
    const verifier = new Verifier(1, { tools: makeTools() });
    for (const { id } of [opened.at(0), opened.at(-1)].filter((one) => one !== undefined)) {
      verifier.check(await connection.ask(legacyRequest(url, id, 1, { method: 'tools/list' })));
    }
  } finally {
    connection.close();
  }
}
