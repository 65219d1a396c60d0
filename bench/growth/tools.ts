/** From one tool to five thousand in the merged list of twenty backends. */
import { serve } from '../contestants/bascule.ts';
import type { Place } from '../contestants/contestant.ts';
import { startBackend } from '../contestants/direct.ts';
import { BACKENDS, behind, serversOf } from '../contestants/many.ts';
import { ForeignLoad } from '../foreign-load.ts';
import { readPages } from '../load/pages.ts';
import { allReady } from '../load/ready.ts';
import type { Launched } from '../process.ts';
import { median } from '../stats.ts';
import { cpuMicros, settle } from '../system.ts';
import { mergedTools } from '../workloads/calls.ts';
import { type Axis, measureCalls, type Point, prepareTurn, withAll } from './axis.ts';

const full = [1, 10, 50, 100, 200, 500, 1000, 2000, 5000];
const few = [1, 100, 1000, 5000];
const CONNECTIONS = 4;
/** Of one round, so that each is about as long. */
const ROUND_TOOLS = 100_000;
const MOST_CALLS = 500;

/** Even shares; some backends have none where there are fewer tools than backends. */
function sharesOf(tools: number): number[] {
  return Array.from({ length: BACKENDS }, (_, at) => Math.floor((tools + at) / BACKENDS));
}

const pathsOf = (tools: number) => sharesOf(tools).map((share, at) => `/cached/${at}/${share}`);
const pagesAt = (url: URL, tools: number) => readPages(url, mergedTools(sharesOf(tools)));

/** Milliseconds of CPU, once all backends are ready and none has been asked for its list by a client. */
async function firstList(backend: Launched, tools: number): Promise<number> {
  const gateway = await serve({ mcpServers: serversOf(backend, pathsOf(tools)) }, 'mcp.json', []);
  try {
    const url = new URL('/mcp', gateway.said);
    await allReady(url, BACKENDS);
    await settle(gateway.pid);
    const before = cpuMicros(gateway.pid);
    await pagesAt(url, tools);
    return (cpuMicros(gateway.pid) - before) / 1000;
  } finally {
    await gateway.stop();
  }
}

async function firstLists(values: readonly number[], times: number) {
  const backend = await startBackend();
  const rows = values.map((x) => ({ x, took: [] as number[] }));
  const foreign = new ForeignLoad();
  try {
    for (let round = 0; round < times; round += 1) {
      for (const { x, took } of rows) took.push(await firstList(backend, x));
    }
  } finally {
    await backend.stop();
  }
  return { points: rows.map(({ x, took }) => ({ x, y: median(took) })), foreignCores: foreign.cores() };
}

export const tools: Axis = {
  name: 'tools',
  async measure(sizes) {
    const values = sizes.quick ? few : full;
    const pages = new Map<number, number>();
    const cached = await withAll(
      values,
      (x) => behind(pathsOf(x), []),
      async (started) => {
        const stations = [];
        for (const { x, running } of started) {
          const questions = await pagesAt(running.at('cached').url, x);
          pages.set(x, questions.length);
          const roundCalls = Math.min(MOST_CALLS, Math.ceil((ROUND_TOOLS / x) * questions.length));
          const requests = {
            target: 'cached',
            connections: CONNECTIONS,
            warmCalls: 3 * roundCalls,
            roundCalls,
          } as const;
          const asking = (_place: Place) => () => questions;
          stations.push({ x, turn: await prepareTurn(`${x} tools`, running, { ...requests, asking }) });
        }
        return measureCalls(stations, sizes);
      },
    );
    const first = await firstLists(values, sizes.starts);
    const whole = cached.points.map(({ x, y }): Point => ({ x, y: y * (pages.get(x) ?? 1) }));
    const bascule = (points: readonly Point[]) => [{ name: 'bascule', points }];
    const linear = { grows: 'linear', foreignCores: cached.foreignCores } as const;
    return {
      axis: 'tools',
      title: 'Tools in a merged list',
      counts: 'tools',
      conditions: `${BACKENDS} HTTP backends of 2026-07-28 share the tools evenly. A page has up to 1,000 tools. The first list of a new gateway asks all backends for theirs; later ones come from memory.`,
      absent: [],
      panels: [
        { title: 'CPU per page, from memory', unit: 'µs', ...linear, lines: bascule(cached.points) },
        { title: 'CPU per whole list, from memory', unit: 'µs', ...linear, lines: bascule(whole) },
        {
          title: 'CPU of the first list',
          unit: 'ms',
          ...linear,
          lines: bascule(first.points),
          foreignCores: first.foreignCores,
        },
      ],
    };
  },
};
