/** Counts over all processes of the gateway. Loaded only where there are several. */
import { FallbackCounts, type FallbackOptions } from '../cluster/fallback-counts.ts';
import { CountsAtPrimary } from '../cluster/primary-counts.ts';
import { SharedSlots } from '../cluster/shared-slots.ts';
import type { Counts } from './counts.ts';

export function sharedCounts(options: FallbackOptions): Counts {
  const { clock } = options;
  const counts = new FallbackCounts(options);
  const made: SharedSlots[] = [];
  return {
    tokens: counts,
    attempts: counts,
    slots: (name, limit) => {
      const slots = new SharedSlots({ name, limit, counts, clock });
      made.push(slots);
      return slots;
    },
    close: () => {
      for (const slots of made) slots.close();
    },
  };
}

/** In a worker. */
export function countsAtPrimary(): CountsAtPrimary {
  return new CountsAtPrimary({
    on: (event, hear) => process.on(event, hear),
    send: (message, sent) => {
      // Throws where the primary process has ended.
      if (process.connected) process.send?.(message, undefined, undefined, sent);
      else sent(new Error('the primary process has ended'));
    },
  });
}
