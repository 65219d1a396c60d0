/** Where rates, sessions and wrong passwords are counted: in this process, or over all processes of the gateway. */
import { MemoryAttempts } from '../exchange/memory-attempts.ts';
import { OwnSlots, type SlotLimit } from '../exchange/slots.ts';
import type { TokenSource } from '../policy/lots.ts';
import type { AttemptCounts } from '../store/counts.ts';

export interface Counts {
  /** Absent: each limit has a bucket in this process. */
  readonly tokens?: TokenSource;
  readonly attempts: AttemptCounts;
  /** `name`: what is counted. */
  slots(name: string, limit: number): SlotLimit;
  close(): void;
}

/** `timeOfDay`: in milliseconds since 1970. */
export function ownCounts(timeOfDay: () => number): Counts {
  return {
    attempts: new MemoryAttempts(timeOfDay),
    slots: (_name, limit) => new OwnSlots(limit),
    close: () => undefined,
  };
}
