/** From a kilobyte to 64 MiB in one message, either way. */
import { overHttpWith } from '../contestants/bascule.ts';
import type { Running } from '../contestants/contestant.ts';
import { passThrough } from '../contestants/pass-through.ts';
import { makeEcho, makeReport, toolNames } from '../programs/payloads.ts';
import { forgetPeak, peakOf } from '../system.ts';
import type { Question } from '../workloads/calls.ts';
import { alternate } from '../workloads/turns.ts';
import { type Axis, type GrowthSizes, medianCpu, type Panel, type Point, prepareTurn, type Station } from './axis.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const full = [1, 8, 64, 512, 4 * KiB, 16 * KiB, 64 * KiB].map((kib) => kib * KiB);
const few = full.filter((bytes) => bytes <= 16 * MiB);
/** Of one round, so that each is about as long. */
const ROUND_BYTES = 64 * MiB;
const MOST_CALLS = 500;
const PEAK_CALLS = 3;
/** The largest payload, its envelope, and what escapes add. */
const ROOM = 96 * MiB;

const limits = { resultBytes: ROOM, bodyBytes: ROOM, bodyBytesPerAddress: 2 * ROOM, bodyBytesTotal: 2 * ROOM };

const result = (bytes: number): Question => ({
  call: { method: 'tools/call', name: toolNames.report, arguments: { text: 'all', bytes } },
  expected: { ...makeReport(bytes) },
});

/** The answer is small: what is measured goes one way only. */
const request = (bytes: number): Question => ({
  call: { method: 'tools/call', name: toolNames.echo, arguments: { text: 'got it', more: textOf(bytes) } },
  expected: { ...makeEcho('got it') },
});

const textOf = (bytes: number): string => makeReport(bytes).content[0]?.text ?? '';

interface Runner {
  readonly name: string;
  readonly running: Running;
}

interface Prepared {
  readonly name: string;
  readonly turns: readonly Station[];
  readonly peak: readonly Point[];
}

interface Measured {
  readonly name: string;
  readonly cpu: readonly Point[];
  readonly peak: readonly Point[];
}

async function turnsOf({ name, running }: Runner, values: readonly number[], ask: (bytes: number) => Question) {
  const turns: Station[] = [];
  for (const x of values) {
    const roundCalls = Math.min(MOST_CALLS, Math.max(1, Math.round(ROUND_BYTES / x)));
    const question = ask(x);
    const calls = { target: 'modern', connections: 1, warmCalls: 2 * roundCalls, roundCalls } as const;
    turns.push({
      x,
      turn: await prepareTurn(`${name}, ${x} bytes`, running, { ...calls, asking: () => () => [question] }),
    });
  }
  return turns;
}

/** From the smallest on, in a new process: memory that a larger one took is not all given back. */
async function peaksOf({ running }: Runner, turns: readonly Station[]) {
  const { pid } = running.at('modern');
  const peaks = [];
  for (const { x, turn } of turns) {
    forgetPeak(pid);
    await turn.go(PEAK_CALLS);
    peaks.push({ x, y: peakOf(pid) / KiB });
  }
  return peaks;
}

async function measureWay(values: readonly number[], ask: (bytes: number) => Question, sizes: GrowthSizes) {
  const options = { targets: ['modern'], nodeArgs: [] } as const;
  const runners: Runner[] = [];
  try {
    runners.push({ name: 'bascule', running: await overHttpWith({ limits }, options) });
    runners.push({ name: 'pass-through', running: await passThrough.start(options) });
    const prepared: Prepared[] = [];
    for (const runner of runners) {
      const turns = await turnsOf(runner, values, ask);
      prepared.push({ name: runner.name, turns, peak: await peaksOf(runner, turns) });
    }
    const inOrder = values.flatMap((_, at) => prepared.flatMap(({ turns }) => turns[at]?.turn ?? []));
    const { foreignCores } = await alternate(inOrder, sizes);
    const measured = prepared.map(
      ({ name, turns, peak }): Measured => ({
        name,
        cpu: turns.map(({ x, turn }) => ({ x, y: medianCpu(turn) })),
        peak,
      }),
    );
    return { measured, foreignCores };
  } finally {
    await Promise.all(runners.map(({ running }) => running.stop()));
  }
}

async function panelsOf(what: string, values: readonly number[], ask: (bytes: number) => Question, sizes: GrowthSizes) {
  const { measured, foreignCores } = await measureWay(values, ask, sizes);
  const panels: Panel[] = [
    {
      title: `CPU per call, by the size of the ${what}`,
      unit: 'µs',
      grows: 'linear',
      lines: measured.map(({ name, cpu }) => ({ name, points: cpu })),
      foreignCores,
    },
    {
      title: `Peak memory, by the size of the ${what}`,
      unit: 'MB',
      grows: 'linear',
      lines: measured.map(({ name, peak }) => ({ name, points: peak })),
      foreignCores: 0,
    },
  ];
  return panels;
}

export const payloads: Axis = {
  name: 'payloads',
  async measure(sizes) {
    const values = sizes.quick ? few : full;
    const results = await panelsOf('result', values, result, sizes);
    const requests = await panelsOf('request', values, request, sizes);
    return {
      axis: 'payloads',
      title: 'Size of one message',
      counts: 'bytes',
      inBytes: true,
      conditions:
        'One long text in a result, or in the arguments of a call; HTTP backend of 2026-07-28, one call at a time. `resultBytes`, `bodyBytes` and `bodyBytesPerAddress` are raised.',
      absent: [],
      panels: [...results, ...requests],
    };
  },
};
