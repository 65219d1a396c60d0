/**
 * A legacy session on a merged endpoint: passes on what backends send outside a call, in the client's names. Each
 * change is sent once; a burst of changes once at its beginning and once at its end.
 */

import type { Reader } from '../catalog/list-reader.ts';
import type { Origin } from '../catalog/names.ts';
import { readerForSession, sessionOwner } from '../catalog/readers.ts';
import { distinguished } from '../catalog/uris.ts';
import { Failure } from '../errors/failure.ts';
import type { Session } from '../session/session.ts';
import { withParam } from '../subscriptions/notifications.ts';
import type { Notification } from '../wire/message.ts';
import { changedList, everyList, type ListKind } from '../wire/subscription-filter.ts';
import { textMember } from '../wire/values.ts';
import type { SharedServices } from './services.ts';

export class SessionLinks {
  readonly #shared: SharedServices;
  readonly #session: Session;
  readonly #reader: Reader;
  #stopHearing: (() => void) | undefined;

  constructor(shared: SharedServices, session: Session) {
    this.#shared = shared;
    this.#session = session;
    // This reader only uses what is already known, and reads no list.
    this.#reader = readerForSession(session, shared.upstreams, async () => {
      throw new Failure('backend_unavailable');
    });
    session.translate = (backend, said) => this.translate(backend, said);
    session.silenced = (backend) => this.outdated(backend);
    session.onEnd(() => this.#stopHearing?.());
  }

  /** The client is ready for notifications. `back` is called for a backend that may have been unavailable. */
  begin(back: (backend: string) => void): void {
    this.#stopHearing ??= this.#shared.listChanges.hear(
      this.#session.endpoint,
      this.#session.principal,
      (backend, kind) => {
        if (backend !== undefined) back(backend);
        this.#session.tellChanged(kind);
      },
    );
  }

  /** What to pass on of a backend's notification, if anything. */
  translate(backend: string, notification: Notification): Notification | undefined {
    const kind = changedList(notification.method);
    if (kind !== undefined) {
      this.#shared.listCache.changed(backend, kind.lists, sessionOwner(this.#session));
      this.changed(kind);
      return undefined;
    }
    if (notification.method !== 'notifications/resources/updated') return notification;
    const uri = textMember(notification.bytes, notification.params, 'uri');
    if (uri === undefined) return notification;
    const address = this.#addressOf({ backend, name: uri });
    return address === uri ? notification : withParam(notification, 'uri', address);
  }

  /** A list of one of the session's backends has changed. */
  changed(kind: ListKind): void {
    if (this.#stopHearing !== undefined) this.#session.tellChanged(kind);
  }

  /** The URI that the client subscribed under; otherwise one that resolves to this backend and no other. */
  #addressOf(origin: Origin): string {
    const { backend, name } = origin;
    const address = distinguished(backend, name);
    const { subscriptions } = this.#session;
    if (subscriptions.backendOf(address) !== undefined) return address;
    if (subscriptions.backendOf(name) === backend) return name;
    return this.#shared.nameResolver.resources.addressOf(this.#session.endpoint, origin, this.#reader);
  }

  /** An upstream session was lost or cannot be heard, so list changes may have been missed. */
  outdated(backend: string): void {
    this.#shared.listCache.changed(backend, everyList, sessionOwner(this.#session));
  }
}
