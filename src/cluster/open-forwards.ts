/** Requests that wait for another process. One that is gone without a word, with its machine, never answers them. */

/** Looks whether the process answers at all. */
export type Probe = (member: string) => Promise<boolean>;

/** How often a process is looked at that requests wait for. */
const PROBE_MS = 5_000;
/** One that is not gone as far as is known may have missed one probe. */
const MOST_MISSED = 2;

interface Waiting {
  readonly cuts: Set<() => void>;
  missed: number;
  probedAt: number;
}

export class OpenForwards {
  readonly #open = new Map<string, Waiting>();
  #isLooking = false;

  /** `cut` ends the request with an error. Returns what to call when it is over. */
  add(member: string, cut: () => void): () => void {
    let waiting = this.#open.get(member);
    if (waiting === undefined) {
      waiting = { cuts: new Set(), missed: 0, probedAt: Date.now() };
      this.#open.set(member, waiting);
    }
    const { cuts } = waiting;
    cuts.add(cut);
    return () => {
      cuts.delete(cut);
    };
  }

  /** Ends what waits for processes that do not answer. One that seems to be gone may only be cut off from the store. */
  async look(isGone: (member: string) => boolean, answers: Probe): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      for (const [member, waiting] of [...this.#open]) await this.#lookAt(member, waiting, isGone(member), answers);
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAt(member: string, waiting: Waiting, isGone: boolean, answers: Probe): Promise<void> {
    const { cuts } = waiting;
    if (cuts.size === 0) {
      if (isGone) this.#open.delete(member);
      return;
    }
    const now = Date.now();
    if (!isGone && waiting.missed === 0 && now - waiting.probedAt < PROBE_MS) return;
    waiting.probedAt = now;
    waiting.missed = (await answers(member)) ? 0 : waiting.missed + 1;
    if (waiting.missed >= (isGone ? 1 : MOST_MISSED)) for (const cut of [...cuts]) cut();
  }
}
