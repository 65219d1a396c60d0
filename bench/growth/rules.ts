/** From ten rules to ten thousand. */

import { overHttpWith, serve } from '../contestants/bascule.ts';
import type { Running, StartOptions } from '../contestants/contestant.ts';
import { backendPaths, startBackend } from '../contestants/direct.ts';
import { makeRules } from '../contestants/policy.ts';
import { allReady } from '../load/ready.ts';
import type { Launched } from '../process.ts';
import { toolNames } from '../programs/payloads.ts';
import { echo } from '../workloads/calls.ts';
import { type Axis, bascule, CONNECTIONS, callsPanel, measureCalls, prepareTurn, smallCalls, withAll } from './axis.ts';
import { measureStarts } from './starts.ts';

const full = [10, 30, 100, 300, 1000, 3000, 10_000];
const few = [10, 100, 1000, 10_000];

const options: StartOptions = { targets: ['modern'], nodeArgs: [] };
const settings = (rules: number) => ({ policy: { rules: makeRules(rules, toolNames.echo) } });
const withRules = (rules: number): Promise<Running> => overHttpWith(settings(rules), options);

/** So many rules that the gateway refuses the config can not be measured, and that is told. */
async function whyRefused(rules: number): Promise<string | undefined> {
  try {
    const running = await withRules(rules);
    await running.stop();
    return undefined;
  } catch (cause) {
    const [, said = ''] = String(cause).split('\n');
    // After the place in the file.
    return `${rules} rules, the gateway does not start (${said.replace(/^\S+: /, '')})`;
  }
}

function startCosts(values: readonly number[], times: number, backend: Launched) {
  const backends = { modern: { url: new URL(backendPaths.modern, backend.said).href } };
  return measureStarts(
    values,
    times,
    (x) => serve({ backends, ...settings(x) }, 'bascule.yaml', []),
    ({ said }) => allReady(new URL(said), 1),
  );
}

export const rules: Axis = {
  name: 'rules',
  async measure(sizes) {
    const wanted = sizes.quick ? few : full;
    const refusals = new Map<number, string>();
    for (const x of wanted) {
      const why = await whyRefused(x);
      if (why !== undefined) refusals.set(x, why);
    }
    const values = wanted.filter((x) => !refusals.has(x));
    const calls = await withAll(values, withRules, async (started) => {
      const stations = started.map(async ({ x, running }) => {
        const requests = { target: 'modern', connections: CONNECTIONS, ...smallCalls } as const;
        const asking: Parameters<typeof prepareTurn>[2]['asking'] = (place) => (connection) => [
          echo(place, connection),
        ];
        return { x, turn: await prepareTurn(`${x} rules`, running, { ...requests, asking }) };
      });
      return measureCalls(await Promise.all(stations), sizes);
    });
    const backend = await startBackend();
    const starts = await startCosts(values, sizes.starts, backend).finally(() => backend.stop());
    const linear = { grows: 'linear', foreignCores: starts.foreignCores } as const;
    return {
      axis: 'rules',
      title: 'Rules of the policy',
      counts: 'rules',
      conditions:
        'Most rules name a tool and a group; a tenth each are patterns at the start, at the end and in the middle of names, tests of arguments, and URIs. One condition in CEL is evaluated for each call.',
      absent: [...refusals.values()],
      panels: [
        callsPanel(calls),
        {
          title: 'CPU from the start until it serves',
          unit: 'ms',
          ...linear,
          lines: bascule(starts.cpuMs),
        },
        {
          title: 'Resident memory when it serves',
          unit: 'MB',
          ...linear,
          lines: bascule(starts.rssMb),
          foreignCores: 0,
        },
      ],
    };
  },
};
