/** A lease is a record that is created if absent, and that expires. Processes that share records share leases. */
import { randomUUID } from 'node:crypto';
import type { HeldLease, Lease, Records } from './ports.ts';

const COLLECTION = 'lease';

export class RecordLease implements Lease {
  readonly #records: Records;
  readonly #now: () => number;

  constructor(records: Records, now: () => number) {
    this.#records = records;
    this.#now = now;
  }

  async take(name: string, ttlMs: number): Promise<HeldLease | undefined> {
    // Tells this holder's lease from a later holder's.
    const mine = randomUUID();
    if (!(await this.#records.replace(COLLECTION, name, undefined, mine, this.#now() + ttlMs))) return undefined;
    return {
      release: async () => {
        await this.#records.replace(COLLECTION, name, mine, undefined);
      },
    };
  }
}
