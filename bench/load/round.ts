/** One round: a fixed number of connections, each asking again as soon as it is answered, for a fixed time. */
import { performance } from 'node:perf_hooks';
import { percentile } from '../stats.ts';
import { cpuMicros } from '../system.ts';
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
  readonly gateway: number;
  /** None where the gateway is the backend. */
  readonly backends: readonly number[];
}

/** When a round is over: after so long, or after so many calls. */
export interface Effort {
  readonly seconds: number;
  readonly calls?: number;
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
}

export async function runRound(load: Load, watched: Watched, effort: Effort): Promise<Sample> {
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
      effort,
    );
  } finally {
    for (const connection of opened) connection.close();
  }
}

async function measure(workers: (() => Promise<void>)[], watched: Watched, effort: Effort): Promise<Sample> {
  const latencies: number[] = [];
  const gatewayBefore = cpuMicros(watched.gateway);
  const backendBefore = sum(watched.backends);
  const begin = performance.now();
  const deadline = begin + effort.seconds * 1000;
  const most = effort.calls ?? Number.POSITIVE_INFINITY;
  await Promise.all(
    workers.map(async (askOnce) => {
      for (let start = performance.now(); start < deadline && latencies.length < most; ) {
        await askOnce();
        const end = performance.now();
        latencies.push(end - start);
        start = end;
      }
    }),
  );
  const elapsed = performance.now() - begin;
  const calls = latencies.length;
  return {
    calls,
    callsPerSecond: (calls / elapsed) * 1000,
    gatewayCpu: (cpuMicros(watched.gateway) - gatewayBefore) / calls,
    backendCpu: (sum(watched.backends) - backendBefore) / calls,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

function sum(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + cpuMicros(pid), 0);
}
