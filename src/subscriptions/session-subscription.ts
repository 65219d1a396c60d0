/**
 * A modern client's `subscriptions/listen` at a legacy backend: filters the notifications of the upstream session, and
 * sends `resources/subscribe` for single resources.
 */

import { Failure } from '../errors/failure.ts';
import type { Call } from '../exchange/call.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import type { Discovery, Hearing, UpstreamSession } from '../exchange/upstream-session.ts';
import type { Permit } from '../policy/permit.ts';
import type { Notification, Request } from '../wire/message.ts';
import {
  admits,
  filterIn,
  honoured,
  offeredLists,
  offersSubscriptions,
  type SubscriptionFilter,
} from '../wire/subscription-filter.ts';
import { acknowledge, ownNotification } from './notifications.ts';

/** The upstream session as a watcher sees it. It counts the subscriptions of several watchers. */
export interface WatchedSession {
  readonly discovery: Discovery;
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): void;
  /** Whether notifications arrive; otherwise a subscription makes no sense. Known after `whenHeard`. */
  readonly hearing: Hearing;
  /** Call `hear` first, then wait for this: otherwise notifications on the opening stream would be missed. */
  whenHeard(): Promise<void>;
  /** Returns how to stop listening. */
  hear(listener: WatchListener): () => void;
}

export interface WatchListener {
  heard(notification: Notification): void;
  /** The session is gone. No more notifications follow. */
  lost(failure: Failure): void;
  /** No notifications arrive for now; the session stays open. */
  silenced?(failure: Failure): void;
}

/** Limit of notifications between the request and its acknowledgement. More of them would add nothing. */
const EARLY = 100;

export class SessionSubscription implements Call {
  readonly #exchange: Exchange;
  readonly #watched: WatchedSession;
  readonly #request: Request;
  /** Checks a notification against the current rules. */
  readonly #mayHear: (said: Notification) => boolean;
  #granted: SubscriptionFilter | undefined;
  #stop: () => void = () => undefined;

  /** `request` has the filter, which may be less than the client asked for. */
  constructor(exchange: Exchange, watched: WatchedSession, request: Request, mayHear: (said: Notification) => boolean) {
    this.#exchange = exchange;
    this.#watched = watched;
    this.#request = request;
    this.#mayHear = mayHear;
  }

  /** Acknowledges what is really honoured, then reports changes until one side ends it. Rejects with a Failure. */
  async begin(): Promise<void> {
    const wanted = filterIn(this.#request);
    // The client may have gone while the session was being opened.
    if (this.#exchange.settled) return;
    this.#exchange.drivenBy(this);
    // Notifications are collected from now on, and sent after the acknowledgement.
    const early: Notification[] = [];
    const lost = (failure: Failure) => {
      this.cancel();
      this.#exchange.fail(failure);
    };
    this.#stop = this.#watched.hear({
      heard: (notification) => {
        if (this.#granted !== undefined) this.#tell(notification);
        else if (early.length < EARLY) early.push(notification);
      },
      lost,
      silenced: (failure) => {
        if (this.#granted !== undefined) lost(failure);
      },
    });
    await this.#watched.whenHeard();
    const { hearing } = this.#watched;
    if (this.#exchange.settled || hearing === 'lost') {
      this.cancel();
      throw new Failure('backend_unavailable', { message: 'The event stream of the backend was lost' });
    }
    // A backend without an event stream cannot report anything.
    const capabilities = hearing === 'never' ? {} : this.#watched.discovery.capabilities;
    const subscribed = offersSubscriptions(capabilities) ? await this.#subscribe(wanted.resourceSubscriptions) : [];
    const granted = honoured(wanted, { ...offeredLists(capabilities), resourceSubscriptions: subscribed });
    if (this.#exchange.settled) {
      this.#stop();
      for (const uri of subscribed) this.#watched.unsubscribe(uri);
      return;
    }
    this.#granted = granted;
    acknowledge(this.#exchange, granted);
    for (const notification of early) this.#tell(notification);
  }

  cancel(): void {
    this.#stop();
    for (const uri of this.#granted?.resourceSubscriptions ?? []) this.#watched.unsubscribe(uri);
    this.#granted = undefined;
  }

  #tell(notification: Notification): void {
    if (this.#granted === undefined || !admits(this.#granted, notification) || !this.#mayHear(notification)) return;
    // In this era a notification may lack `params`, but here it needs them for the subscription id.
    this.#exchange.sendSubscribed(
      notification.params === undefined ? ownNotification(notification.method, {}) : notification,
    );
  }

  async #subscribe(uris: readonly string[]): Promise<readonly string[]> {
    const outcomes = await Promise.allSettled(uris.map((uri) => this.#watched.subscribe(uri)));
    return uris.filter((_, index) => outcomes[index]?.status === 'fulfilled');
  }
}

interface Subscription {
  watchers: number;
  readonly agreed: Promise<unknown>;
}

/**
 * Modern clients that watch one upstream session of a legacy backend. Subscriptions are counted, so that a client that
 * leaves does not end those of the others.
 */
export class Audience {
  readonly #listeners = new Set<WatchListener>();
  readonly #subscriptions = new Map<string, Subscription>();

  get size(): number {
    return this.#listeners.size;
  }

  notify(notification: Notification): void {
    for (const listener of this.#listeners) listener.heard(notification);
  }

  lost(failure: Failure): void {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    this.#subscriptions.clear();
    for (const listener of listeners) listener.lost(failure);
  }

  /** The session stays open, but receives nothing for now. */
  silenced(failure: Failure): void {
    for (const listener of [...this.#listeners]) listener.silenced?.(failure);
  }

  /** The session as one more watcher sees it. */
  watch(upstream: UpstreamSession, permit: Permit): WatchedSession {
    return {
      discovery: upstream.discovery,
      get hearing() {
        return upstream.hearing ?? 'heard';
      },
      whenHeard: async () => upstream.whenHeard?.(),
      subscribe: (uri) => this.#subscribe(upstream, permit, uri),
      unsubscribe: (uri) => this.#unsubscribe(upstream, permit, uri),
      hear: (given) => {
        // Copy the listener, so that a listener registered twice is called twice.
        const listener: WatchListener = { ...given };
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
  }

  async #subscribe(upstream: UpstreamSession, permit: Permit, uri: string): Promise<void> {
    const existing = this.#subscriptions.get(uri);
    const subscription = existing ?? {
      watchers: 0,
      agreed: callOnce((sink) => upstream.call(permit, ownRequest('resources/subscribe', { uri }), sink)),
    };
    this.#subscriptions.set(uri, subscription);
    subscription.watchers += 1;
    try {
      await subscription.agreed;
    } catch (error) {
      if (this.#subscriptions.get(uri) === subscription) this.#subscriptions.delete(uri);
      throw error;
    }
  }

  #unsubscribe(upstream: UpstreamSession, permit: Permit, uri: string): void {
    const subscription = this.#subscriptions.get(uri);
    if (subscription === undefined) return;
    subscription.watchers -= 1;
    if (subscription.watchers > 0) return;
    this.#subscriptions.delete(uri);
    // The outcome makes no difference to any watcher.
    callOnce((sink) => upstream.call(permit, ownRequest('resources/unsubscribe', { uri }), sink)).catch(
      () => undefined,
    );
  }
}
