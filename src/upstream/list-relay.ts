/**
 * Changes of lists, passed on between the legacy sessions of one backend: from those whose standalone stream stands to those
 * whose stream does not, because there is no room for more or because it is lost. All sessions here present the same
 * credentials (a backend to which each principal presents its own is one `LiveBackend` each), and what is passed on says no more
 * than that a list may have changed. Everything else that a session says is its client's alone.
 */

import type { Clock } from '../exchange/clock.ts';
import { Changes } from '../exchange/coalesced-changes.ts';
import type { Notification } from '../wire/message.ts';

export interface RelayListener {
  overheard(notification: Notification): void;
}

export class ListRelay {
  readonly #deaf = new Set<RelayListener>();
  /** As many sessions as there are tell of the same change. */
  readonly #changes: Changes<string, Notification>;

  constructor(clock: Pick<Clock, 'after'>, quietMs: number) {
    this.#changes = new Changes(clock, quietMs, (_method, notification) => {
      for (const listener of [...this.#deaf]) listener.overheard(notification);
    });
  }

  /** The listener's own stream does not stand. */
  join(listener: RelayListener): void {
    this.#deaf.add(listener);
  }

  /** It stands again, or nobody listens any more. */
  leave(listener: RelayListener): void {
    this.#deaf.delete(listener);
  }

  /** A session was told that a list changed. */
  told(notification: Notification): void {
    if (this.#deaf.size > 0) this.#changes.changed(notification.method, notification);
  }

  close(): void {
    this.#changes.close();
    this.#deaf.clear();
  }
}
