/** What has ended is removed in the background, a little at a time: every write holds up the writes of all other processes. */

const SWEEP_EVERY_MS = 10_000;

/** A transaction of a few milliseconds. Where more have ended than that, the next follows as soon as others had their turn. */
const SWEPT_AT_ONCE = 500;

/** Returns how to stop. Keeps no process alive. */
export function startSweeping(
  records: { sweep(most: number): Promise<number> },
  warn: (text: string, facts: Readonly<Record<string, unknown>>) => void,
): () => void {
  let stopped = false;
  let sweeping = false;
  let failed = false;
  const sweep = async () => {
    if (sweeping) return;
    sweeping = true;
    try {
      while ((await records.sweep(SWEPT_AT_ONCE)) === SWEPT_AT_ONCE && !stopped);
      failed = false;
    } catch (error) {
      // Once, not with every turn: a full disk is full for a while.
      if (!failed && !stopped) warn('records that have ended cannot be removed', { why: String(error) });
      failed = true;
    } finally {
      sweeping = false;
    }
  };
  const timer = setInterval(() => void sweep(), SWEEP_EVERY_MS);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
