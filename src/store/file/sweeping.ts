/** Removes expired records in the background, a few at a time: every write blocks the writes of all other processes. */

const SWEEP_EVERY_MS = 10_000;

/** A transaction of a few milliseconds. If more records have expired, the next one follows after other writes. */
const SWEPT_AT_ONCE = 500;

/** Returns the function that stops it. Does not keep the process alive. */
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
      // Warn once, not every time: a full disk stays full for a while.
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
