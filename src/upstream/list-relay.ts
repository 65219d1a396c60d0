/**
 * Relays list changes between the legacy sessions of one backend: from sessions whose standalone stream is open to
 * sessions whose stream is not, because of the limit on streams or because it was lost. All sessions here present the
 * same credentials (where each principal presents its own, each has a `LiveBackend`), and a relayed notification says
 * no more than that a list may have changed. Everything else in a session is for its client alone.
 */

import type { Clock } from '../exchange/clock.ts';
import { Changes } from '../exchange/coalesced-changes.ts';
import type { Notification } from '../wire/message.ts';

export interface RelayListener {
  overheard(notification: Notification): void;
}

export class ListRelay {
  readonly #deaf = new Set<RelayListener>();
  /** Coalesces reports: every session reports the same change. */
  readonly #changes: Changes<string, Notification>;

  constructor(clock: Pick<Clock, 'after'>, quietMs: number) {
    this.#changes = new Changes(clock, quietMs, (_method, notification) => {
      for (const listener of [...this.#deaf]) listener.overheard(notification);
    });
  }

  /** Called when the listener's own stream is not open. */
  join(listener: RelayListener): void {
    this.#deaf.add(listener);
  }

  /** Called when the stream is open again, or the session is closed. */
  leave(listener: RelayListener): void {
    this.#deaf.delete(listener);
  }

  /** Called when a session got a list change from the backend. */
  told(notification: Notification): void {
    if (this.#deaf.size > 0) this.#changes.changed(notification.method, notification);
  }

  close(): void {
    this.#changes.close();
    this.#deaf.clear();
  }
}
