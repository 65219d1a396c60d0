/** Ends a process and all that it started, as the specification orders: closed stdin, SIGTERM, SIGKILL. */
import type { Clock } from '../../exchange/clock.ts';
import { groupAlive, signalGroup } from './group.ts';

export interface Ending {
  readonly pid: number;
  /** Resolves when the process itself has exited, whatever it left behind. */
  readonly exited: Promise<void>;
  hasExited(): boolean;
  closeInput(): void;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** How long each step is given. */
  readonly childStopMs: number;
}

/** Nothing tells that a group became empty, so it is looked at. */
const GROUP_POLL_MS = 20;

/** Resolves when the group is empty, or when nothing more can be done about it. */
export async function endInOrder(ending: Ending): Promise<void> {
  const { pid, childStopMs } = ending;
  ending.closeInput();
  // What survives a process that has exited already was given no stdin of ours to watch.
  if (await emptyWithin(ending, ending.hasExited() ? 0 : childStopMs)) return;
  signalGroup(pid, 'SIGTERM');
  if (await emptyWithin(ending, childStopMs)) return;
  signalGroup(pid, 'SIGKILL');
  await emptyWithin(ending, childStopMs);
}

async function emptyWithin(ending: Ending, ms: number): Promise<boolean> {
  const { clock } = ending;
  const until = clock.now() + ms;
  for (;;) {
    if (ending.hasExited() && !groupAlive(ending.pid)) return true;
    const left = until - clock.now();
    if (left <= 0) return false;
    await moment(ending, left);
  }
}

function moment(ending: Ending, left: number): Promise<void> {
  return new Promise((resolve) => {
    if (ending.hasExited()) {
      ending.clock.after(Math.min(left, GROUP_POLL_MS), resolve);
      return;
    }
    const cancel = ending.clock.after(left, resolve);
    void ending.exited.then(() => {
      cancel();
      resolve();
    });
  });
}
