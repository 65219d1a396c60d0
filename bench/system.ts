/** What the system knows of a process. Linux only: https://man7.org/linux/man-pages/man5/proc.5.html */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that used less than this in one interval has nothing left to do but its idle timers. */
const STILL_MS = 2;
const INTERVAL_MS = 150;
/** A garbage collection of a heap that is far larger than any here is over by then. */
const SETTLE_MS = 10_000;

/** CPU time of all threads in microseconds, to the nanosecond where the kernel counts so (clock ticks are 10 ms). */
export function cpuMicros(pid: number): number {
  let total = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const text = readOrNothing(`/proc/${pid}/task/${thread}/schedstat`);
    total += Number(text.split(' ')[0] ?? 0);
  }
  return total / 1000;
}

/** A thread can end between the listing and the reading. */
function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

export interface Memory {
  /** All of it, in kilobytes, shared code and the mapped files of the program included. */
  readonly resident: number;
  /** What the process itself has written. The rest comes and goes with the system's cache, not with sessions. */
  readonly anonymous: number;
}

export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return { resident: kilobytes(text, 'Rss'), anonymous: kilobytes(text, 'Anonymous') };
}

function kilobytes(rollup: string, name: string): number {
  const line = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup);
  if (line === null) throw new Error(`smaps_rollup has no ${name}`);
  return Number(line[1]);
}

export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readOrNothing(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/** A thread that waits for a core uses no time either; only one that sleeps has nothing to do. */
function isAsleep(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const stat = readOrNothing(`/proc/${pid}/task/${thread}/stat`);
    return stat === '' || stat.slice(stat.lastIndexOf(')') + 2).startsWith('S');
  });
}

/** Waits until a process does nothing any more: what was deferred is done, and its memory can be read. */
export async function settle(pid: number): Promise<void> {
  const deadline = Date.now() + SETTLE_MS;
  for (let before = cpuMicros(pid); Date.now() < deadline; ) {
    await sleep(INTERVAL_MS);
    const now = cpuMicros(pid);
    if (now - before < STILL_MS * 1000 && isAsleep(pid)) return;
    before = now;
  }
}
