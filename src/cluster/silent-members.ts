/** Processes that requests wait for. One that is gone without a word, with its machine, never answers them. */
import type { Lanes } from './lanes/lanes.ts';

/** How often a process is looked at that requests wait for. */
const PROBE_MS = 5_000;
/** One that is not gone as far as is known may have missed one probe. */
const MOST_MISSED = 2;

interface Watched {
  missed: number;
  probedAt: number;
}

export class SilentMembers {
  readonly #lanes: Lanes;
  readonly #watched = new Map<string, Watched>();
  #isLooking = false;

  constructor(lanes: Lanes) {
    this.#lanes = lanes;
  }

  /** Ends what waits for processes that do not answer. One that seems to be gone may only be cut off from the store. */
  async look(isGone: (member: string) => boolean): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { awaited } = this.#lanes;
      for (const member of this.#watched.keys()) if (!awaited.includes(member)) this.#watched.delete(member);
      for (const member of awaited) await this.#lookAt(member, isGone(member));
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAt(member: string, isGone: boolean): Promise<void> {
    const now = Date.now();
    const watched = this.#watched.get(member) ?? { missed: 0, probedAt: now };
    this.#watched.set(member, watched);
    if (!isGone && watched.missed === 0 && now - watched.probedAt < PROBE_MS) return;
    watched.probedAt = now;
    watched.missed = (await this.#lanes.answers(member)) ? 0 : watched.missed + 1;
    if (watched.missed >= (isGone ? 1 : MOST_MISSED)) this.#lanes.cut(member);
  }
}
