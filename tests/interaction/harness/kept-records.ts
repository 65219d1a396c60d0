/** Stores in memory for gateways that follow each other, with the faults of a real one. */
import { MemoryRecords } from '../../kit/memory-records.ts';

class KeptRecords extends MemoryRecords {
  override async close(): Promise<void> {
    // The same records serve the next gateway.
  }
}

/** A store that answers when the test lets it. */
export class HeldRecords extends KeptRecords {
  readonly #held: (() => void)[] = [];
  holds = false;

  get waiting(): number {
    return this.#held.length;
  }

  override async get(collection: string, key: string): Promise<string | undefined> {
    const value = await super.get(collection, key);
    if (this.holds) await new Promise<void>((resolve) => this.#held.push(resolve));
    return value;
  }

  release(): void {
    this.holds = false;
    for (const resolve of this.#held.splice(0)) resolve();
  }
}

/** A store without room for more. */
export class FullRecords extends KeptRecords {
  isFull = true;

  override async put(...record: Parameters<MemoryRecords['put']>): Promise<void> {
    if (this.isFull) throw new Error('no space left');
    await super.put(...record);
  }
}
