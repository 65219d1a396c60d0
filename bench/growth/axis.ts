/**
 * What the bench varies, and what it finds out at each value. A new axis is a file of its own and a row in `growth.ts`.
 */
import type { Contestant, Running } from '../contestants/contestant.ts';
import { median } from '../stats.ts';
import type { CallWorkload } from '../workloads/calls.ts';
import { alternate, prepare, type Sizes, type Turn } from '../workloads/turns.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** How a cost may grow: not at all, or in proportion. */
export type Growth = 'flat' | 'linear';

export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
}

/** One drawing: a cost of Bascule, which is the first line, and what it is held against. */
export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly grows: Growth;
  readonly lines: readonly Line[];
  /** How many cores others used meanwhile; 0 where that does not matter. */
  readonly foreignCores: number;
}

export interface AxisResult {
  readonly axis: string;
  readonly title: string;
  /** What the x axis counts. */
  readonly counts: string;
  readonly inBytes?: boolean;
  /** Under which conditions. */
  readonly conditions: string;
  /** Values that could not be measured, with the reason. */
  readonly absent: readonly string[];
  readonly panels: readonly Panel[];
}

/** As it is kept in `growth.json`: axes can be measured one at a time. */
export interface KeptResult extends AxisResult {
  readonly node: string;
  readonly cores: number;
  readonly date: string;
  readonly rounds: number;
}

export interface GrowthSizes extends Sizes {
  /** Of a new process, where its first seconds are measured. */
  readonly starts: number;
  readonly quick: boolean;
}

export interface Axis {
  readonly name: string;
  measure(sizes: GrowthSizes): Promise<AxisResult>;
}

/** Requests at one value of the axis. */
export interface Station {
  readonly x: number;
  readonly turn: Turn;
}

export interface Costs {
  readonly points: readonly Point[];
  readonly foreignCores: number;
}

/** Enough to keep a gateway busy all the time. */
export const CONNECTIONS = 16;
export const smallCalls = { warmCalls: 5000, roundCalls: 1000 } as const;

/** Microseconds of CPU per call. All values of the axis take turns, as contestants do in `npm run bench`. */
export async function measureCalls(stations: readonly Station[], sizes: Sizes): Promise<Costs> {
  const { foreignCores } = await alternate(
    stations.map(({ turn }) => turn),
    sizes,
  );
  return { points: stations.map(({ x, turn }) => ({ x, y: medianCpu(turn) })), foreignCores };
}

/** The panel that most axes begin with. */
export function callsPanel({ points, foreignCores }: Costs): Panel {
  return { title: 'CPU per small call', unit: 'µs', grows: 'flat', lines: bascule(points), foreignCores };
}

/** The one line of a panel without other contestants. */
export function bascule(points: readonly Point[]): Panel['lines'] {
  return [{ name: 'bascule', points }];
}

export function medianCpu({ samples }: Turn): number {
  return median(samples.map(({ gatewayCpu }) => gatewayCpu));
}

/** Starts what stands at each value, and ends all of it, whatever happens. */
export async function withAll<T>(
  values: readonly number[],
  start: (x: number) => Promise<Running>,
  use: (started: readonly { readonly x: number; readonly running: Running }[]) => Promise<T>,
): Promise<T> {
  const started: { x: number; running: Running }[] = [];
  try {
    for (const x of values) started.push({ x, running: await start(x) });
    return await use(started);
  } finally {
    await Promise.all(started.map(({ running }) => running.stop()));
  }
}

type Requests = Pick<CallWorkload, 'target' | 'connections' | 'warmCalls' | 'roundCalls' | 'asking'>;

export function prepareTurn(name: string, running: Running, requests: Requests): Promise<Turn> {
  const contestant: Contestant = { name, group: 'http', start: async () => running };
  return prepare({ id: 'growth', title: name, group: 'http', ...requests }, { contestant, running });
}
