/** Ends a process and everything that it started, as the specification demands: close stdin, SIGTERM, SIGKILL. */
import type { Clock } from '../../exchange/clock.ts';
import { groupRuns, signalGroup } from './group.ts';

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

/** Resolves when the group is empty, or when nothing more can be done. */
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
