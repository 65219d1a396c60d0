/** A lease is a record that one puts where there is none, and that ends by itself. Whoever shares the records shares the leases. */
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
    // By it a holder knows its own lease from that of the next.
    const mine = randomUUID();
    if (!(await this.#records.replace(COLLECTION, name, undefined, mine, this.#now() + ttlMs))) return undefined;
    return {
      release: async () => {
        await this.#records.replace(COLLECTION, name, mine, undefined);
      },
    };
  }
}
