/** The backends that there are now, by name. A reload adds some and takes others away; whoever looks sees those of the moment. */

import type { Backend } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';

export class Backends implements Iterable<Backend> {
  readonly #byName = new Map<string, Backend>();

  constructor(backends: Iterable<Backend> = []) {
    for (const backend of backends) this.set(backend);
  }

  /** As all see it. */
  get(name: string): Backend | undefined {
    return this.#byName.get(name);
  }

  /** As one principal sees it: where each presents something of their own, each has a way of their own. */
  of(name: string, principal: Principal): Backend | undefined {
    const backend = this.#byName.get(name);
    return backend?.ownOf === undefined ? backend : backend.ownOf(principal);
  }

  /** In the place of the one that had the name. */
  set(backend: Backend): void {
    this.#byName.set(backend.name, backend);
  }

  delete(name: string): void {
    this.#byName.delete(name);
  }

  [Symbol.iterator](): Iterator<Backend> {
    return this.#byName.values();
  }
}
