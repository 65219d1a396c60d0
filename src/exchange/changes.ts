/** Changes that come in a storm are told once at its beginning and once at its end. */
import type { Clock } from './clock.ts';

export class Changes<Kind> {
  readonly #clock: Clock;
  readonly #quietMs: number;
  readonly #tell: (kind: Kind) => void;
  /** Kinds that were told a moment ago, and whether another came since. */
  readonly #recent = new Map<Kind, { again: boolean; readonly stop: () => void }>();

  constructor(clock: Clock, quietMs: number, tell: (kind: Kind) => void) {
    this.#clock = clock;
    this.#quietMs = quietMs;
    this.#tell = tell;
  }

  changed(kind: Kind): void {
    const recent = this.#recent.get(kind);
    if (recent !== undefined) {
      recent.again = true;
      return;
    }
    const entry = { again: false, stop: this.#clock.after(this.#quietMs, () => this.#quiet(kind)) };
    this.#recent.set(kind, entry);
    this.#tell(kind);
  }

  close(): void {
    for (const { stop } of this.#recent.values()) stop();
    this.#recent.clear();
  }

  #quiet(kind: Kind): void {
    const again = this.#recent.get(kind)?.again === true;
    this.#recent.delete(kind);
    if (again) this.changed(kind);
  }
}
