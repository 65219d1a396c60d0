/** From one backend to two hundred behind one address. */
import { serve } from '../contestants/bascule.ts';
import type { Place } from '../contestants/contestant.ts';
import { startBackend } from '../contestants/direct.ts';
import { behind, cachedPaths, serversOf } from '../contestants/many.ts';
import { allReady } from '../load/ready.ts';
import { echo } from '../workloads/calls.ts';
import {
  type Axis,
  bascule,
  CONNECTIONS,
  type Costs,
  callsPanel,
  type GrowthSizes,
  measureCalls,
  prepareTurn,
  smallCalls,
  withAll,
} from './axis.ts';
import { measureStarts, type StartCosts } from './starts.ts';

const full = [1, 2, 5, 10, 20, 50, 100, 200];
const few = [1, 10, 50, 200];

/** Each connection calls backend after backend, so that all of them are called. */
function asking(place: Place, backends: number): (connection: number) => ReturnType<typeof echo>[] {
  const each = Math.ceil(backends / CONNECTIONS);
  return (connection) => Array.from({ length: each }, (_, at) => echo(place, connection + at * CONNECTIONS));
}

function callCosts(values: readonly number[], sizes: GrowthSizes): Promise<Costs> {
  return withAll(
    values,
    (x) => behind(cachedPaths(x), []),
    async (started) => {
      const stations = started.map(async ({ x, running }) => {
        const requests = { target: 'cached', connections: CONNECTIONS, ...smallCalls } as const;
        const turn = await prepareTurn(`${x} backends`, running, { ...requests, asking: (place) => asking(place, x) });
        return { x, turn };
      });
      return measureCalls(await Promise.all(stations), sizes);
    },
  );
}

async function startCosts(values: readonly number[], { starts }: GrowthSizes): Promise<StartCosts> {
  const backend = await startBackend();
  try {
    return await measureStarts(
      values,
      starts,
      (x) => serve({ mcpServers: serversOf(backend, cachedPaths(x)) }, 'mcp.json', []),
      ({ said }, x) => allReady(new URL(said), x),
    );
  } finally {
    await backend.stop();
  }
}

export const backends: Axis = {
  name: 'backends',
  async measure(sizes) {
    const values = sizes.quick ? few : full;
    const calls = await callCosts(values, sizes);
    const { ms, cpuMs, rssMb, foreignCores } = await startCosts(values, sizes);
    const linear = { grows: 'linear', foreignCores } as const;
    return {
      axis: 'backends',
      title: 'Backends behind one address',
      counts: 'backends',
      conditions:
        'HTTP backends of 2026-07-28 with 200 tools each at the merged endpoint (one backend is not merged with anything); 16 connections call one backend after the other, until all have been called.',
      absent: [],
      panels: [
        callsPanel(calls),
        { title: 'From the start until all are ready', unit: 'ms', ...linear, lines: bascule(ms) },
        { title: 'CPU until all are ready', unit: 'ms', ...linear, lines: bascule(cpuMs) },
        {
          title: 'Resident memory when ready',
          unit: 'MB',
          ...linear,
          lines: bascule(rssMb),
          foreignCores: 0,
        },
      ],
    };
  },
};
