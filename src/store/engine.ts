/** All ports of a store that several processes share. */
import type { SharedCounts } from './counts.ts';
import type { Bus, EventLog, Lease, Records } from './ports.ts';

export interface StoreEngine {
  /** Not sealed: SealedRecords is. Closing them closes the engine. */
  readonly records: Records;
  readonly events: EventLog;
  readonly bus: Bus;
  readonly lease: Lease;
  readonly counts: SharedCounts;
  /**
   * Random, and different after the store was restarted without its data: what was agreed before, such as a lease, is
   * void then. Undefined until the store was reached for the first time.
   */
  readonly epoch: string | undefined;
  /** Calls the listener now where the store is there, and whenever it is there again: messages may have been lost. */
  onReady(listener: () => void): void;
}
