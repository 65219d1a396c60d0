/** The machine's own time. Timers do not keep the process alive: what keeps it alive is that somebody is served. */
import type { Clock } from './exchange/clock.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  soon: (action) => {
    setImmediate(action);
  },
};
