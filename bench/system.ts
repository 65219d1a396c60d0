/** What the system knows of a process. Linux only: https://man7.org/linux/man-pages/man5/proc.5.html */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that used less than this in one interval has nothing left to do but its idle timers. */
const STILL_MS = 2;
const INTERVAL_MS = 150;
/** A garbage collection of a heap that is far larger than any here is over by then. */
const SETTLE_MS = 10_000;

/** CPU time of all threads in microseconds, to the nanosecond where the kernel counts so (clock ticks are 10 ms). */
export function cpuMicros(pid: number): number {
  let total = 0;
  for (const thread of threadsOf(pid)) {
    const text = readOrNothing(`/proc/${pid}/task/${thread}/schedstat`);
    total += Number(text.split(' ')[0] ?? 0);
  }
  return total / 1000;
}

/** Clock ticks in a second, for what the kernel counts in them. */
const TICKS = 100;
const MICROS_PER_TICK = 1_000_000 / TICKS;

/** Of a process and of all that it has started; of those that have ended already to the clock tick. */
export function treeCpuMicros(pid: number): number {
  return [pid, ...descendantsOf(pid)].reduce((total, one) => total + cpuMicros(one) + endedChildrenMicros(one), 0);
}

/** Fields 16 and 17 of its `stat`: user and system time of children that it has waited for. */
function endedChildrenMicros(pid: number): number {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * MICROS_PER_TICK;
}

/**
 * What all processes together have used, and what the host kept from this machine. Interrupts are part of it: what the
 * system does for a packet in one of them, a process is charged for as well.
 */
export function machineCpuMicros(): number {
  const [, user, nice, system, , , ...interrupts] = readOrNothing('/proc/stat').split(/\s+/, 9).map(Number);
  return (
    [user, nice, system, ...interrupts].reduce<number>((total, ticks) => total + (ticks ?? 0), 0) * MICROS_PER_TICK
  );
}

export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Those below a process that run a program, which their command line names. */
export function descendantsRunning(pid: number, program: string): number[] {
  return descendantsOf(pid).filter((below) => readOrNothing(`/proc/${below}/cmdline`).includes(program));
}

/** A thread, or a process, can end between the listing and the reading. */
function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Resident memory of a process in kilobytes; none of one that has ended. */
export function residentKb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readOrNothing(`/proc/${pid}/status`))?.[1] ?? 0);
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

/** The most that it has had resident since the last `forgetPeak`, in kilobytes. */
export function peakOf(pid: number): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (line === null) throw new Error('its status has no VmHWM');
  return Number(line[1]);
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function kilobytes(rollup: string, name: string): number {
  const line = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup);
  if (line === null) throw new Error(`smaps_rollup has no ${name}`);
  return Number(line[1]);
}

function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) =>
    readOrNothing(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/** A thread that waits for a core uses no time either; only one that sleeps has nothing to do. */
function isAsleep(pid: number): boolean {
  return threadsOf(pid).every((thread) => {
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
