/** Counts over all processes of the gateway. Loaded only where there are several. */
import { FallbackCounts, type FallbackOptions } from '../cluster/fallback-counts.ts';
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
