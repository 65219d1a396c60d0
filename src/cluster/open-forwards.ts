/** Requests that wait for another process. One that is gone without a word, with its machine, never answers them. */

/** Looks whether the process answers at all. */
export type Probe = (member: string) => Promise<boolean>;

export class OpenForwards {
  readonly #open = new Map<string, Set<() => void>>();

  /** `cut` ends the request with an error. Returns what to call when it is over. */
  add(member: string, cut: () => void): () => void {
    let cuts = this.#open.get(member);
    if (cuts === undefined) {
      cuts = new Set();
      this.#open.set(member, cuts);
    }
    cuts.add(cut);
    return () => {
      cuts.delete(cut);
    };
  }

  /** Ends what waits for processes that seem to be gone and do not answer. One may only be cut off from the store. */
  async look(isGone: (member: string) => boolean, answers: Probe): Promise<void> {
    for (const [member, cuts] of this.#open) {
      if (!isGone(member)) continue;
      if (cuts.size > 0 && (await answers(member))) continue;
      this.#open.delete(member);
      for (const cut of [...cuts]) cut();
    }
  }
}
