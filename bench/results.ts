/** What a run finds out; written as it is to `latest.json`. */
import type { Group } from './contestants/contestant.ts';
import type { Spread } from './stats.ts';
import type { OpeningRow } from './workloads/opening.ts';

/** One contestant under one load; medians over the rounds. */
export interface CallRow {
  readonly contestant: string;
  /** Microseconds of CPU per call. */
  readonly gatewayCpu: Spread;
  readonly cpuByRound: readonly number[];
  readonly backendCpu: Spread;
  /** Of both together. */
  readonly treeCpu: Spread;
  /** CPU against that of the group's floor in the same round. */
  readonly ratio?: Spread;
  /** Microseconds of CPU more than the floor in the same round. */
  readonly more?: Spread;
  readonly callsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The most resident memory that it had after a round, in megabytes, all its processes but the backends. */
  readonly rssMb: number;
  readonly calls: number;
}

export interface CallResult {
  readonly workload: string;
  readonly title: string;
  readonly group: Group;
  readonly connections: number;
  /** How many cores others used meanwhile. */
  readonly foreignCores: number;
  readonly floor: string;
  readonly rows: readonly CallRow[];
}

export interface IdleRow {
  readonly contestant: string;
  readonly group: Group;
  readonly sessions: number;
  /** Kilobytes of memory for one more session, after a garbage collection: of those after the first third. */
  readonly kbEach: number;
  /** Of the first third, with what V8 takes once. */
  readonly earlyKbEach: number;
  /** Resident memory with all of them, in megabytes. */
  readonly rssMb: number;
  /** Streams open at the backend meanwhile, where it can be asked. */
  readonly upstreamStreams: number | undefined;
}

export interface StartRow {
  readonly contestant: string;
  readonly group: Group;
  /** Milliseconds from the start of the process to its first right answer. */
  readonly ms: Spread;
  /** Against `node -e 0`, run just before each start. */
  readonly ratio: Spread;
  /** Resident memory, in megabytes, once it is quiet again. */
  readonly rssMb: number;
}

export interface Starts {
  readonly rows: readonly StartRow[];
  /** How many cores others used meanwhile. */
  readonly foreignCores: number;
}

export interface Absent {
  readonly contestant: string;
  readonly group: Group;
  readonly why: string;
}

export interface Results {
  readonly node: string;
  readonly cores: number;
  readonly date: string;
  readonly rounds: number;
  readonly profiled: string | undefined;
  readonly absent: readonly Absent[];
  readonly calls: readonly CallResult[];
  readonly opening: readonly OpeningRow[];
  readonly idle: readonly IdleRow[];
  readonly starts: Starts | undefined;
}
