/** The system clock. Its timers do not keep the process alive: only what serves clients does. */
import type { Clock } from '../exchange/clock.ts';

/** Comparable between processes, and steady: setting the system time causes no timeouts. */
const now = () => performance.timeOrigin + performance.now();

export const systemClock: Clock = {
  now,
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  soon: (action) => {
    setImmediate(action);
  },
};
