/** What a new gateway costs until it is of use: time, CPU and memory, by the value of the axis. */
import { performance } from 'node:perf_hooks';
import { ForeignLoad } from '../foreign-load.ts';
import type { Launched } from '../process.ts';
import { median } from '../stats.ts';
import { cpuMicros, memoryOf, settle } from '../system.ts';
import type { Point } from './axis.ts';

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
  readonly rssMb: number;
}

export interface StartCosts {
  /** Milliseconds to the moment when it was of use. */
  readonly ms: readonly Point[];
  readonly cpuMs: readonly Point[];
  /** Resident memory, once it is quiet again. */
  readonly rssMb: readonly Point[];
  readonly foreignCores: number;
}

async function startOnce(start: () => Promise<Launched>, use: (gateway: Launched) => Promise<unknown>): Promise<Start> {
  const gateway = await start();
  try {
    await use(gateway);
    const ms = performance.now() - gateway.spawnedAt;
    const cpuMs = cpuMicros(gateway.pid) / 1000;
    await settle(gateway.pid);
    return { ms, cpuMs, rssMb: memoryOf(gateway.pid).resident / 1024 };
  } finally {
    await gateway.stop();
  }
}

/** `use` waits until it is of use. All values take turns. */
export async function measureStarts(
  values: readonly number[],
  times: number,
  start: (x: number) => Promise<Launched>,
  use: (gateway: Launched, x: number) => Promise<unknown>,
): Promise<StartCosts> {
  const rows = values.map((x) => ({ x, starts: [] as Start[] }));
  const foreign = new ForeignLoad();
  for (let round = 0; round < times; round += 1) {
    for (const { x, starts } of rows) {
      starts.push(
        await startOnce(
          () => start(x),
          (gateway) => use(gateway, x),
        ),
      );
    }
  }
  const medians = (of: (start: Start) => number) => rows.map(({ x, starts }) => ({ x, y: median(starts.map(of)) }));
  return {
    ms: medians(({ ms }) => ms),
    cpuMs: medians(({ cpuMs }) => cpuMs),
    rssMb: medians(({ rssMb }) => rssMb),
    foreignCores: foreign.cores(),
  };
}
