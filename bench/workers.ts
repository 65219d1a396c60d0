/**
 * `npm run bench:workers -- [rounds]`: what workers gain, and what they cost.
 *
 * - Two workers against one process, each of the three held to a quarter of a core: calls per second, and the CPU time
 *   of a call, that of the primary process included.
 * - A call of a legacy session that arrives at the other worker, against one that arrives where the session is: the CPU
 *   time of both workers.
 *
 * Rounds of the two take turns, and what counts is the ratio of two that follow each other. Ends with status 1 where
 * the middle ratio misses its target. Needs root and control groups.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { buildPrograms } from './build.ts';
import { ControlGroup } from './cgroup.ts';
import { serve } from './contestants/bascule.ts';
import { backendPaths, startWarmBackend } from './contestants/direct.ts';
import { Connection } from './load/connection.ts';
import { legacyRequest, modernRequest } from './load/requests.ts';
import { openSession } from './load/session.ts';
import { runProgram } from './program.ts';
import { toolNames } from './programs/payloads.ts';
import { median, ratioOfPairs, type Spread } from './stats.ts';
import { cpuMicros, descendantsOf } from './system.ts';

const SHARE = 0.25;
const SECONDS = 4;
const WARM_SECONDS = 8;
const ROUNDS = 8;
/** Of each process that serves. An even number. */
const CONNECTIONS = 16;
const call = { method: 'tools/call', name: toolNames.echo, arguments: { text: 'one of many' } };

interface Figures {
  readonly callsPerSecond: number;
  /** Microseconds of CPU time of a call, by process. */
  readonly cpu: readonly number[];
}

const totalOf = ({ cpu }: Figures): number => cpu.reduce((total, one) => total + one, 0);

/** Sends the bytes of each connection over and over. */
async function round(asking: readonly [Connection, Buffer][], pids: readonly number[], seconds = SECONDS) {
  const before = pids.map(cpuMicros);
  const begun = performance.now();
  const until = begun + seconds * 1000;
  let calls = 0;
  const one = async ([connection, bytes]: readonly [Connection, Buffer]): Promise<void> => {
    while (performance.now() < until) {
      const { status } = await connection.ask(bytes);
      if (status !== 200) throw new Error(`a call was answered with ${status}`);
      calls += 1;
    }
  };
  await Promise.all(asking.map(one));
  const callsPerSecond = (calls / (performance.now() - begun)) * 1000;
  return { callsPerSecond, cpu: pids.map((pid, at) => (cpuMicros(pid) - (before[at] ?? 0)) / calls) } as Figures;
}

function connections(url: URL, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => Connection.open(url)));
}

class Bench {
  readonly #groups: ControlGroup[] = [];
  readonly #stops: (() => Promise<void>)[] = [];

  /** `options`: of the command. The processes: the first one, and its workers. */
  async start(target: 'modern' | 'legacy', options: readonly string[]) {
    const backend = await startWarmBackend();
    const config = { backends: { [target]: { url: new URL(backendPaths[target], backend.said).href } } };
    const gateway = await serve(config, 'bascule.yaml', [], undefined, options);
    this.#stops.push(gateway.stop, backend.stop);
    // Each worker has discovered the backend.
    await sleep(2_000);
    return { url: gateway.place(target).url, pids: [gateway.pid, ...descendantsOf(gateway.pid)] };
  }

  hold(pid: number): void {
    const group = ControlGroup.make(`worker-${pid}`, SHARE);
    this.#groups.push(group);
    group.add(pid);
  }

  async close(): Promise<void> {
    // A process that is held to its share stops slowly.
    for (const group of this.#groups) group.release();
    for (const stop of this.#stops) await stop();
    for (const group of this.#groups) await group.remove();
  }
}

interface Judged {
  readonly name: string;
  readonly ratio: Spread;
  readonly least?: number;
  readonly most?: number;
}

function report({ name, ratio, least = 0, most = Number.POSITIVE_INFINITY }: Judged): boolean {
  const isMet = ratio.median >= least && ratio.median <= most;
  const target = least > 0 ? `at least ${least}` : `at most ${most}`;
  const range = `${ratio.least.toFixed(2)} to ${ratio.most.toFixed(2)}`;
  console.log(`${isMet ? 'ok    ' : 'MISSED'} ${name}: ${ratio.median.toFixed(2)} times (${range}; target ${target})`);
  return isMet;
}

async function twoAgainstOne(bench: Bench, rounds: number): Promise<Judged[]> {
  const one = await bench.start('modern', []);
  const two = await bench.start('modern', ['--workers', '2']);
  const figures: { one: Figures[]; two: Figures[] } = { one: [], two: [] };
  const sides = [
    { ...one, count: CONNECTIONS, into: figures.one },
    { ...two, count: 2 * CONNECTIONS, into: figures.two },
  ];
  for (let turn = -1; turn < rounds; turn++) {
    // They warm up before they are held: V8 compiles by then what is called often.
    if (turn === 0) for (const pid of [...one.pids, ...two.pids.slice(1)]) bench.hold(pid);
    for (const { url, pids, into, count } of sides) {
      const opened = await connections(url, count);
      const asking = opened.map((connection, id) => [connection, modernRequest(url, id, call)] as [Connection, Buffer]);
      const measured = await round(asking, pids, turn < 0 ? WARM_SECONDS : SECONDS);
      for (const connection of opened) connection.close();
      if (turn >= 0) into.push(measured);
    }
  }
  const speed = (side: readonly Figures[]) => side.map(({ callsPerSecond }) => callsPerSecond);
  const shown = (side: readonly Figures[]) =>
    `${median(speed(side)).toFixed(0)} calls/s, ${median(side.map(totalOf)).toFixed(0)} µs of CPU a call`;
  console.log(`one process: ${shown(figures.one)}; two workers: ${shown(figures.two)}`);
  return [
    { name: 'throughput of two workers', ratio: ratioOfPairs(speed(figures.two), speed(figures.one)), least: 1.8 },
    {
      name: 'CPU of a call with two workers',
      ratio: ratioOfPairs(figures.two.map(totalOf), figures.one.map(totalOf)),
      most: 1.1,
    },
  ];
}

async function forwardedAgainstLocal(bench: Bench, rounds: number): Promise<Judged> {
  const { url, pids } = await bench.start('legacy', ['--workers', '2']);
  // Opened one after the other, so that the workers take turns: a neighbour is at the other worker.
  const opened: Connection[] = [];
  const sessions: string[] = [];
  for (let at = 0; at < CONNECTIONS; at++) {
    const connection = await Connection.open(url);
    opened.push(connection);
    sessions.push(await openSession(url, connection));
  }
  const withSessionOf = (neighbour: (at: number) => number) =>
    opened.map((connection, at) => {
      const bytes = legacyRequest(url, sessions[neighbour(at)], at, call);
      return [connection, bytes] as [Connection, Buffer];
    });
  const local = withSessionOf((at) => at);
  const elsewhere = withSessionOf((at) => at ^ 1);
  const figures: { local: Figures[]; forwarded: Figures[] } = { local: [], forwarded: [] };
  for (let turn = -1; turn < rounds; turn++) {
    const seconds = turn < 0 ? WARM_SECONDS : SECONDS;
    const [here, there] = [await round(local, pids, seconds), await round(elsewhere, pids, seconds)];
    if (turn < 0) continue;
    figures.local.push(here);
    figures.forwarded.push(there);
  }
  for (const connection of opened) connection.close();
  const [locally, forwarded] = [median(figures.local.map(totalOf)), median(figures.forwarded.map(totalOf))];
  console.log(`a legacy call: ${locally.toFixed(0)} µs of CPU; forwarded: ${forwarded.toFixed(0)} µs`);
  const ratio = ratioOfPairs(figures.forwarded.map(totalOf), figures.local.map(totalOf));
  return { name: 'CPU of a forwarded call', ratio, most: 1.6 };
}

async function main(): Promise<number> {
  const rounds = Number(process.argv[2] ?? ROUNDS);
  await buildPrograms();
  const bench = new Bench();
  try {
    const judged = [await forwardedAgainstLocal(bench, rounds), ...(await twoAgainstOne(bench, rounds))];
    return judged.map(report).every(Boolean) ? 0 : 1;
  } finally {
    await bench.close();
  }
}

runProgram(main);
