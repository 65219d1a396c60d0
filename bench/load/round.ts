/** One round: a fixed number of calls, over connections that each ask again as soon as they are answered. */
import { performance } from 'node:perf_hooks';
import { percentile } from '../stats.ts';
import { cpuMicros, descendantsOf, residentKb, treeCpuMicros } from '../system.ts';
import { Connection } from './connection.ts';
import { type Expected, Verifier } from './verify.ts';

export interface Load {
  readonly url: URL;
  readonly connections: number;
  /** Each connection sends its requests over and over, under an id of its own, so that crossed answers are noticed. */
  requests(connection: number): readonly LoadRequest[];
}

export interface LoadRequest {
  readonly id: number;
  readonly bytes: Buffer;
  readonly expected: Expected;
}

/** Whose CPU time is read. */
export interface Watched {
  /** With all that it has started, less the backends. */
  readonly gateway: number;
  /** None where the gateway is the backend. */
  backends(): readonly number[];
}

export interface Sample {
  readonly calls: number;
  readonly callsPerSecond: number;
  /** Microseconds of CPU per call. */
  readonly gatewayCpu: number;
  readonly backendCpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Resident memory of the gateway's processes after it, in megabytes. */
  readonly rssMb: number;
}

/** A round that takes longer has met somebody who is far too slow, and ends with the calls that it has. */
const PATIENCE_MS = 60_000;

export async function runRound(load: Load, watched: Watched, calls: number): Promise<Sample> {
  const opened = await Promise.all(Array.from({ length: load.connections }, () => Connection.open(load.url)));
  try {
    const workers = opened.map((connection, index) => {
      const asked = load
        .requests(index)
        .map(({ id, bytes, expected }) => ({ bytes, verifier: new Verifier(id, expected) }));
      let next = 0;
      const askOnce = async (): Promise<void> => {
        const { bytes, verifier } = asked[next++ % asked.length] as (typeof asked)[number];
        verifier.check(await connection.ask(bytes));
      };
      return { askOnce, kinds: asked.length };
    });
    // Connections are made by now, and every answer was compared in full once.
    await Promise.all(
      workers.map(async ({ askOnce, kinds }) => {
        for (let count = 0; count < kinds; count += 1) await askOnce();
      }),
    );
    return await measure(
      workers.map(({ askOnce }) => askOnce),
      watched,
      calls,
    );
  } finally {
    for (const connection of opened) connection.close();
  }
}

async function measure(workers: (() => Promise<void>)[], watched: Watched, calls: number): Promise<Sample> {
  const latencies: number[] = [];
  let left = calls;
  const before = cpuOf(watched);
  const begin = performance.now();
  const deadline = begin + PATIENCE_MS;
  await Promise.all(
    workers.map(async (askOnce) => {
      for (let start = performance.now(); left > 0 && start < deadline; ) {
        left -= 1;
        await askOnce();
        const end = performance.now();
        latencies.push(end - start);
        start = end;
      }
    }),
  );
  const elapsed = performance.now() - begin;
  const after = cpuOf(watched);
  const made = latencies.length;
  return {
    calls: made,
    callsPerSecond: (made / elapsed) * 1000,
    gatewayCpu: (after.gateway - before.gateway) / made,
    backendCpu: (after.backends - before.backends) / made,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    rssMb: residentMb(watched),
  };
}

/** Backends are below some gateways, and beside others. */
function cpuOf({ gateway, backends }: Watched): { gateway: number; backends: number } {
  const [pids, below] = [backends(), new Set(descendantsOf(gateway))];
  const own = treeCpuMicros(gateway) - sum(pids.filter((pid) => below.has(pid)));
  return { gateway: own, backends: sum(pids) };
}

function residentMb({ gateway, backends }: Watched): number {
  const not = new Set(backends());
  const own = [gateway, ...descendantsOf(gateway)].filter((pid) => !not.has(pid));
  return own.reduce((total, pid) => total + residentKb(pid), 0) / 1024;
}

function sum(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + cpuMicros(pid), 0);
}
