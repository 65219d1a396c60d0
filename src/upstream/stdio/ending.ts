/** Ends a process and all that it started, as the specification orders: closed stdin, SIGTERM, SIGKILL. */
import type { Clock } from '../../exchange/clock.ts';
import { groupRuns, signalGroup } from './group.ts';

export interface EndingProcess {
  readonly pid: number;
  /** Resolves when the process itself has exited, whatever it left behind. */
  readonly exited: Promise<void>;
  hasExited(): boolean;
  closeInput(): void;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** How long each step is given. */
  readonly childStopMs: number;
}

/** Nothing tells that a group became empty, so it is looked at, less often as time goes by. */
const FIRST_LOOK_MS = 10;

/** Resolves when the group is empty, or when nothing more can be done about it. */
export async function endInOrder(ending: EndingProcess): Promise<void> {
  const { pid, childStopMs } = ending;
  ending.closeInput();
  // What survives a process that has exited already was given no stdin of ours to watch.
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

/** Until the process exits, if it has not, but for so long at most. */
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
