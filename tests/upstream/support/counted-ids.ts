import { Ids } from '../../../src/upstream/envelope.ts';

/** Ids that a test can name: "1", "2" and so on. */
export class CountedIds extends Ids {
  #last = 0;

  override next(): string {
    this.#last += 1;
    return `"${this.#last}"`;
  }
}
