/** Rates, sessions and attempts are counted over all workers, by the primary process. */
import { PrimaryCounts } from '../../cluster/primary-counts.ts';
import type { PrimaryService, Seated } from './questions.ts';

export class SharedWorkerCounts implements PrimaryService {
  readonly #counts: PrimaryCounts;

  /** `now`: in milliseconds. */
  constructor(now: () => number) {
    this.#counts = new PrimaryCounts(now);
  }

  joined({ number, peer }: Seated): void {
    peer.answer('count', async (question) => (await this.#counts.answer(String(number), question)) ?? null);
  }

  left({ number }: Seated): void {
    this.#counts.forget(String(number));
  }
}
