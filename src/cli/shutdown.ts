/** Signals: the first one shuts down in order and within a time limit, the second one at once. */
import type { Limits } from '../config/limits.ts';

/** How long the last traces may take to reach their collector: a part of `SLACK_MS`. */
export const TRACES_MS = 2_000;

/** Extra time after the last orderly step, before the process is ended. */
const SLACK_MS = 5_000;

/**
 * `isWorker`: Ctrl-C reaches every process of the terminal's group, and the primary process passes it on as SIGTERM. A
 * worker must not count it twice.
 */
export function stopOnSignal(limits: Limits, stop: () => Promise<void>, isWorker = false): void {
  let stopping = false;
  const onSignal = () => {
    if (stopping) process.exit(1);
    stopping = true;
    // Stopping a child process has three steps: stdin closed, SIGTERM, SIGKILL.
    const longest = limits.replicaLeaveMs + limits.drainMs + 3 * limits.childStopMs + SLACK_MS;
    setTimeout(() => process.exit(1), longest).unref();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`stopping failed: ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', isWorker ? () => undefined : onSignal);
}
