/**
 * What a legacy session receives outside of its calls: whether its standalone stream is open, and what to report after
 * a gap. The notifications of the gap are lost, so everything that the backend could have announced counts as changed.
 */
import { Failure } from '../errors/failure.ts';
import type { CallRequest } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { Changes } from '../exchange/coalesced-changes.ts';
import type { Hearing, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import { within } from '../exchange/within.ts';
import { ownNotification } from '../subscriptions/notifications.ts';
import { notificationBytes } from '../wire/compose.ts';
import type { Notification } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { listKinds, offeredLists } from '../wire/subscription-filter.ts';
import { textMember } from '../wire/values.ts';
import type { StandaloneListener } from './channel.ts';
import type { TimerClock } from './deadlines.ts';
import type { LegacyUpstreamSession } from './legacy.ts';

/**
 * A GET is answered within a round trip, or a few on a new connection. If the stream takes longer, calls start without
 * it: some servers send no headers before their first event.
 */
const OPEN_MS = 200;
/** Limit of remembered resources: all that one client may subscribe to, by default. */
const REMEMBERED = 1_000;

export class Standalone implements StandaloneListener {
  readonly #session: LegacyUpstreamSession;
  readonly #sink: UpstreamSessionSink;
  readonly #relay: ListRelay;
  /** Resources subscribed to in this session. Created for the first one. */
  #subscribed: Set<string> | undefined;
  /**
   * Calls that may cause server requests wait while the standalone stream is opened: earlier messages on it would be
   * lost.
   */
  opening: Promise<void> | undefined;
  #hearing: Hearing = 'heard';
  #wasOpen = false;
  #isClosed = false;

  /** `relay`: shared by all sessions of the backend. */
  constructor(session: LegacyUpstreamSession, sink: UpstreamSessionSink, relay: ListRelay) {
    this.#session = session;
    this.#sink = sink;
    this.#relay = relay;
  }

  get hearing(): Hearing {
    return this.#hearing;
  }

  open(clock: TimerClock): void {
    const { channel, headers, notes } = this.#session;
    const answered = channel.listen?.(headers, this);
    if (answered === undefined) return;
    const opened = (): void => {
      this.opening = undefined;
    };
    this.opening = within(clock, OPEN_MS, answered, () => undefined).then(opened, (cause: unknown) => {
      opened();
      notes.odd('fault', 'a standing stream', cause);
    });
  }

  /** A `resources/subscribe` or `resources/unsubscribe` that the backend accepted. */
  subscribed({ row, message }: CallRequest): void {
    const uri = textMember(message.bytes, message.params, 'uri');
    if (uri === undefined) return;
    if (row.method === 'resources/unsubscribe') {
      this.#subscribed?.delete(uri);
      return;
    }
    this.#subscribed ??= new Set();
    if (this.#subscribed.size < REMEMBERED) this.#subscribed.add(uri);
  }

  opened(): void {
    this.#hearing = 'heard';
    this.#wasOpen = true;
    this.#relay.leave(this);
  }

  away(): void {
    if (!this.#isClosed) this.#relay.join(this);
  }

  close(): void {
    this.#isClosed = true;
    this.#relay.leave(this);
  }

  missed(): void {
    const offered = offeredLists(this.#session.discovery.capabilities);
    for (const { flag, method } of listKinds)
      if (offered[flag]) this.notify(skimMessage(notificationBytes(method)) as Notification);
    for (const uri of this.#subscribed ?? []) this.notify(ownNotification('notifications/resources/updated', { uri }));
  }

  lost(failure: Failure): void {
    this.#hearing = 'lost';
    this.#silenced(failure);
  }

  none(): void {
    this.#hearing = 'never';
    this.#relay.leave(this);
    // If there never was a stream, nothing was promised to the client.
    if (this.#wasOpen)
      this.#silenced(new Failure('backend_unavailable', { message: 'The backend has no event stream' }));
  }

  doubted(): void {
    const session = this.#session;
    void session.isKnown().then((isKnown) => {
      if (!isKnown && !this.#isClosed) session.lost(new Failure('backend_session_lost'));
    });
  }

  /** Delivers a notification as if the backend had sent it. */
  notify(notification: Notification): void {
    this.#tell(notification.method, () => this.#sink.notify(notification));
  }

  /** The session receives nothing for now. */
  #silenced(failure: Failure): void {
    this.#tell('a lost stream', () => this.#sink.silenced?.(failure));
  }

  #tell(what: string, report: () => void): void {
    if (this.#isClosed) return;
    try {
      report();
    } catch (cause) {
      this.#session.notes.odd('fault', what, cause);
    }
  }
}

/**
 * Relays list changes between the legacy sessions of one backend: from sessions whose standalone stream is open to
 * sessions whose stream is not, because of the limit on streams or because it was lost. All sessions here present the
 * same credentials (where each principal presents its own, each has a `LiveBackend`), and a relayed notification says
 * no more than that a list may have changed. Everything else in a session is for its client alone.
 */
export class ListRelay {
  readonly #deaf = new Set<Standalone>();
  /** Coalesces reports: every session reports the same change. */
  readonly #changes: Changes<string, Notification>;

  constructor(clock: Pick<Clock, 'after'>, quietMs: number) {
    this.#changes = new Changes(clock, quietMs, (_method, notification) => {
      for (const listener of [...this.#deaf]) listener.notify(notification);
    });
  }

  /** Called when the listener's own stream is not open. */
  join(listener: Standalone): void {
    this.#deaf.add(listener);
  }

  /** Called when the stream is open again, or the session is closed. */
  leave(listener: Standalone): void {
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
