/**
 * The process group of a child. Servers are mostly started through `npx`, `uvx` or a shell, so the process that we know
 * is seldom the one that does the work: signals go to the whole group, and a child is gone when its group is empty. A
 * process that leaves the group on purpose (setsid) escapes; only a container can hold it.
 */
import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../../exchange/clock.ts';

const hasGroups = process.platform !== 'win32';

/** Options of `spawn` that give a child a process group of its own. */
export const ownGroup = { detached: hasGroups, windowsHide: true, shell: false } as const;

function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (!hasGroups) {
    endTree(pid);
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is empty, or no longer ours: nothing left to do.
  }
}

export function killGroup(pid: number): void {
  signalGroup(pid, 'SIGKILL');
}

/**
 * Whether any process of the group still runs. `kill` also counts processes that ended and were not reaped, so Linux
 * needs a second check: in a container without an init, orphans are never reaped, and waiting for them would never end.
 */
async function groupRuns(pid: number): Promise<boolean> {
  if (!hasGroups) return false;
  try {
    process.kill(-pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return process.platform === 'linux' ? await hasRunningMember(pid) : true;
}

async function hasRunningMember(group: number): Promise<boolean> {
  for (const entry of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    // proc(5): state, parent and group follow the name, which is in parentheses and may contain some itself.
    const [state, , memberOf] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
    if (memberOf === String(group) && state !== 'Z' && state !== 'X') return true;
  }
  return false;
}

/** Windows has neither groups nor SIGTERM: the system's own tool ends the tree. */
function endTree(pid: number): void {
  spawn('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore', windowsHide: true }).on('error', () => {
    // Without the tool nothing else can be done; the child has lost its stdin.
  });
}

const living = new Set<number>();
let watching = false;

/** If our process exits without having stopped its children in order, their groups are killed with it. */
export function endWithUs(pid: number): void {
  living.add(pid);
  if (watching) return;
  watching = true;
  process.on('exit', () => {
    for (const left of living) signalGroup(left, 'SIGKILL');
  });
}

export function endedBeforeUs(pid: number): void {
  living.delete(pid);
}

export interface EndingProcess {
  readonly pid: number;
  /** Resolves when the process itself has exited, whatever it left behind. */
  readonly exited: Promise<void>;
  hasExited(): boolean;
  closeInput(): void;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Time limit of each step. */
  readonly childStopMs: number;
}

/** No event reports an empty group, so it is polled, at growing intervals. */
const FIRST_LOOK_MS = 10;

/**
 * Ends a process and everything that it started, as the specification demands: close stdin, SIGTERM, SIGKILL. Resolves
 * when the group is empty, or when nothing more can be done.
 */
export async function endInOrder(ending: EndingProcess): Promise<void> {
  const { pid, childStopMs } = ending;
  ending.closeInput();
  // Survivors of a process that has exited do not have our stdin, so closing it tells them nothing.
  if (await emptyWithin(ending, ending.hasExited() ? 0 : childStopMs)) return;
  signalGroup(pid, 'SIGTERM');
  if (await emptyWithin(ending, childStopMs)) return;
  signalGroup(pid, 'SIGKILL');
  await emptyWithin(ending, childStopMs);
}

async function emptyWithin(ending: EndingProcess, ms: number): Promise<boolean> {
  const { clock } = ending;
  const until = clock.now() + ms;
  for (let look = FIRST_LOOK_MS; ; look *= 2) {
    if (ending.hasExited() && !(await groupRuns(ending.pid))) return true;
    const left = until - clock.now();
    if (left <= 0) return false;
    await moment(ending, ending.hasExited() ? Math.min(left, look) : left);
  }
}

/** Waits until the process exits, but at most `ms`. If it has exited, waits `ms`. */
function moment(ending: EndingProcess, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = ending.clock.after(ms, resolve);
    if (ending.hasExited()) return;
    void ending.exited.then(() => {
      cancel();
      resolve();
    });
  });
}
