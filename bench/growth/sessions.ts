/** From one legacy session with an open GET stream to ten thousand. */
import { readFileSync } from 'node:fs';
import { limitsFor, overHttpWith } from '../contestants/bascule.ts';
import type { Place, Running } from '../contestants/contestant.ts';
import { ForeignLoad } from '../foreign-load.ts';
import { type IdleSession, openSessions } from '../load/idle-sessions.ts';
import { legacyRequest } from '../load/requests.ts';
import { type Load, runRound } from '../load/round.ts';
import { treeCpuMicros } from '../system.ts';
import { echo } from '../workloads/calls.ts';
import { checkAlive, collectingOnSignal, readMemory } from '../workloads/idle.ts';
import type { Turn } from '../workloads/turns.ts';
import { type Axis, bascule, CONNECTIONS, callsPanel, measureCalls, type Point, smallCalls, withAll } from './axis.ts';

const full = [1, 10, 100, 1000, 3000, 10_000];
const few = [1, 100, 1000];
const MOST = 10_000;
/** What fewer take is lost among what it takes to load and compile their code. */
const FEWEST = 100;
/** Sessions that are called, of each gateway. */
const CALLED = 1000;
/** Descriptors of the gateway for all but streams. */
const SPARE = 500;

/** A stream takes a descriptor on either side; where the system does not give as many, some have none upstream. */
function streamsUpstream(): number {
  const line = /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
  const descriptors = Number(line?.[1] ?? Number.POSITIVE_INFINITY);
  return Math.max(1, Math.min(MOST, descriptors - MOST - SPARE));
}

function start(): Promise<Running> {
  const limits = limitsFor(MOST, streamsUpstream());
  return overHttpWith({ limits }, { targets: ['legacy'], nodeArgs: collectingOnSignal() });
}

interface Opened {
  readonly cpuMs: number;
  readonly kbEach: number;
}

/** The first one loads and compiles code, so it is not counted where others are. */
async function open({ url, pid }: Place, count: number, opened: IdleSession[]): Promise<Opened> {
  if (count > 1) await openSessions(url, 1, opened);
  const left = count - opened.length;
  const before = await readMemory(pid);
  const cpuBefore = treeCpuMicros(pid);
  await openSessions(url, left, opened);
  const cpuMs = (treeCpuMicros(pid) - cpuBefore) / left / 1000;
  const after = await readMemory(pid);
  return { cpuMs, kbEach: (after.anonymous - before.anonymous) / left };
}

function prepareTurn(place: Place, opened: readonly IdleSession[]): Turn {
  const { url, pid: gateway, backendPids: backends } = place;
  const step = Math.max(1, opened.length / CALLED);
  const called = Array.from({ length: Math.min(CALLED, opened.length) }, (_, at) => opened[Math.floor(at * step)]);
  const load: Load = {
    url,
    connections: CONNECTIONS,
    requests: (connection) => {
      const own = called.filter((_, at) => at % CONNECTIONS === connection % called.length);
      const id = connection + 1;
      const { call, expected } = echo(place, connection);
      return own.map((session) => ({ id, bytes: legacyRequest(url, session?.id ?? '', id, call), expected }));
    },
  };
  return { workload: smallCalls, samples: [], go: (calls) => runRound(load, { gateway, backends }, calls) };
}

export const sessions: Axis = {
  name: 'sessions',
  async measure(sizes) {
    const opened: IdleSession[][] = [];
    const cpu: Point[] = [];
    const kb: Point[] = [];
    const values = sizes.quick ? few : full;
    try {
      return await withAll(values, start, async (started) => {
        const stations = [];
        const foreign = new ForeignLoad();
        for (const { x, running } of started) {
          const place = running.at('legacy');
          const own: IdleSession[] = [];
          opened.push(own);
          const { cpuMs, kbEach } = await open(place, x, own);
          if (x >= FEWEST) {
            cpu.push({ x, y: cpuMs });
            kb.push({ x, y: kbEach });
          }
          stations.push({ x, turn: prepareTurn(place, own) });
        }
        const foreignCores = foreign.cores();
        const calls = await measureCalls(stations, sizes);
        for (const [at, { running }] of started.entries()) await checkAlive(running.at('legacy').url, opened[at] ?? []);
        return {
          axis: 'sessions',
          title: 'Legacy sessions, each with an open GET stream',
          counts: 'sessions',
          conditions: `HTTP backend of 2025-11-25, a session there for each; up to ${streamsUpstream()} of them have a stream of their own there as well, for want of descriptors. Calls are spread over up to ${CALLED} of the sessions. \`sessionsPerPrincipal\`, \`connectionsPerAddress\` and \`streamsPerBackend\` are raised.`,
          absent: [],
          panels: [
            callsPanel(calls),
            { title: 'CPU to open a session', unit: 'ms', grows: 'flat', lines: bascule(cpu), foreignCores },
            { title: 'Memory of a session', unit: 'KB', grows: 'flat', lines: bascule(kb), foreignCores: 0 },
          ],
        };
      });
    } finally {
      for (const { stream } of opened.flat()) stream.close();
    }
  },
};
