/**
 * What a legacy session receives outside of its calls: whether its standalone stream is open, and what to report after
 * a gap. The notifications of the gap are lost, so everything that the backend could have announced counts as changed.
 */
import { Failure } from '../errors/failure.ts';
import type { CallRequest } from '../exchange/call.ts';
import type { Hearing } from '../exchange/upstream-session.ts';
import { ownNotification } from '../subscriptions/notifications.ts';
import { notificationBytes } from '../wire/compose.ts';
import type { Notification } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { listKinds, offeredLists } from '../wire/subscription-filter.ts';
import { textMember } from '../wire/values.ts';
import type { StandaloneListener } from './channel.ts';
import type { ListRelay, RelayListener } from './list-relay.ts';

/** Limit of remembered resources: all that one client may subscribe to, by default. */
const REMEMBERED = 1_000;

export interface StandaloneOptions {
  capabilities(): Readonly<Record<string, unknown>>;
  /** Delivers a notification as if the backend had sent it. */
  notify(notification: Notification): void;
  /** The session receives nothing for now. */
  silenced(failure: Failure): void;
  /** Shared by all sessions of the backend. */
  readonly relay: ListRelay;
}

export class Standalone implements StandaloneListener, RelayListener {
  readonly #options: StandaloneOptions;
  /** Resources subscribed to in this session. */
  readonly #subscribed = new Set<string>();
  #hearing: Hearing = 'heard';
  #wasOpen = false;
  #isClosed = false;

  constructor(options: StandaloneOptions) {
    this.#options = options;
  }

  get hearing(): Hearing {
    return this.#hearing;
  }

  /** A `resources/subscribe` or `resources/unsubscribe` that the backend accepted. */
  subscribed({ row, message }: CallRequest): void {
    const uri = textMember(message.bytes, message.params, 'uri');
    if (uri === undefined) return;
    if (row.method === 'resources/unsubscribe') this.#subscribed.delete(uri);
    else if (this.#subscribed.size < REMEMBERED) this.#subscribed.add(uri);
  }

  opened(): void {
    this.#hearing = 'heard';
    this.#wasOpen = true;
    this.#options.relay.leave(this);
  }

  away(): void {
    if (!this.#isClosed) this.#options.relay.join(this);
  }

  /** A different session of the same backend got a list change. */
  overheard(notification: Notification): void {
    this.#options.notify(notification);
  }

  close(): void {
    this.#isClosed = true;
    this.#options.relay.leave(this);
  }

  missed(): void {
    const { capabilities, notify } = this.#options;
    const offered = offeredLists(capabilities());
    for (const { flag, method } of listKinds)
      if (offered[flag]) notify(skimMessage(notificationBytes(method)) as Notification);
    for (const uri of this.#subscribed) notify(ownNotification('notifications/resources/updated', { uri }));
  }

  lost(failure: Failure): void {
    this.#hearing = 'lost';
    this.#options.silenced(failure);
  }

  none(): void {
    this.#hearing = 'never';
    this.#options.relay.leave(this);
    // If there never was a stream, nothing was promised to the client.
    if (this.#wasOpen)
      this.#options.silenced(new Failure('backend_unavailable', { message: 'The backend has no event stream' }));
  }
}
