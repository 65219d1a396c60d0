/** Signals: the first stops in order and within a named time, the second at once. */
import type { Limits } from '../config/limits.ts';

/** Between the last orderly step and giving up on order. */
const SLACK_MS = 5_000;

export function stopOnSignal(limits: Limits, stop: () => Promise<void>): void {
  let stopping = false;
  const onSignal = () => {
    if (stopping) process.exit(1);
    stopping = true;
    // Children are given three steps: stdin closed, SIGTERM, SIGKILL.
    const longest = limits.drainMs + 3 * limits.childStopMs + SLACK_MS;
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
  process.on('SIGINT', onSignal);
}
