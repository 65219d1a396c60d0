/** The current backends by name. A reload adds and removes some; each lookup sees the current set. */

import type { Backend } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';

export class Backends implements Iterable<Backend> {
  readonly #byName = new Map<string, Backend>();

  constructor(backends: Iterable<Backend> = []) {
    for (const backend of backends) this.set(backend);
  }

  /** The backend that all principals share. */
  get(name: string): Backend | undefined {
    return this.#byName.get(name);
  }

  /**
   * The backend for one principal. Where principals present credentials of their own, each has a backend instance of
   * their own.
   */
  of(name: string, principal: Principal): Backend | undefined {
    const backend = this.#byName.get(name);
    return backend?.ownOf === undefined ? backend : backend.ownOf(principal);
  }

  /** Replaces the backend of the same name. */
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
