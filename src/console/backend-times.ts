/** Since when each backend is in its state. */
import type { Backend } from '../exchange/upstream-session.ts';

/** In milliseconds since 1970. */
interface KnownState {
  readonly backend: Backend;
  since: number;
}

export class BackendTimes {
  readonly #now: () => number;
  readonly #known = new Map<string, KnownState>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A backend of the same name, from a later config, takes the place of the one before. */
  watch(backend: Backend): void {
    const known: KnownState = { backend, since: this.#now() };
    this.#known.set(backend.name, known);
    backend.onChange(() => {
      known.since = this.#now();
    });
  }

  since(backend: Backend): number | undefined {
    const known = this.#known.get(backend.name);
    return known?.backend === backend ? known.since : undefined;
  }
}
