/** The machine's own time. Timers do not keep the process alive: what keeps it alive is that somebody is served. */
import type { Clock } from '../exchange/clock.ts';

/** Comparable between processes, and steady when the machine's clock is set: nothing times out because of that. */
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
