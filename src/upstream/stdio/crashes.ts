/** Which principals made processes crash lately: they wait before the next process is started for them. Pure. */

/** From this many entries on, expired ones are removed. */
const MANY = 256;

export class Crashes {
  readonly #pauseMs: number;
  readonly #until = new Map<string, number>();

  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs;
  }

  add(owner: string, now: number): void {
    if (this.#until.size >= MANY) for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key);
    this.#until.set(owner, now + this.#pauseMs);
  }

  leftMs(owner: string, now: number): number {
    return Math.max(0, (this.#until.get(owner) ?? 0) - now);
  }
}
