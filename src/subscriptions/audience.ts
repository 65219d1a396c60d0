/**
 * Modern clients that watch one upstream session of a legacy backend. Subscriptions are counted, so that a client that
 * leaves does not end those of the others.
 */
import type { Failure } from '../errors/failure.ts';
import { callOnce } from '../exchange/own-call.ts';
import type { UpstreamSession } from '../exchange/upstream-session.ts';
import type { Permit } from '../policy/permit.ts';
import type { Notification } from '../wire/message.ts';
import { subscribeRequest, type WatchedSession, type WatchListener } from './session-subscription.ts';

interface Subscription {
  watchers: number;
  readonly agreed: Promise<unknown>;
}

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
        // Wrap the listener, so that a listener registered twice is called twice.
        const listener: WatchListener = {
          heard: (notification) => given.heard(notification),
          lost: (failure) => given.lost(failure),
          silenced: (failure) => given.silenced?.(failure),
        };
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
  }

  async #subscribe(upstream: UpstreamSession, permit: Permit, uri: string): Promise<void> {
    const existing = this.#subscriptions.get(uri);
    const subscription = existing ?? {
      watchers: 0,
      agreed: callOnce((sink) => upstream.call(permit, subscribeRequest('resources/subscribe', uri), sink)),
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
    callOnce((sink) => upstream.call(permit, subscribeRequest('resources/unsubscribe', uri), sink)).catch(
      () => undefined,
    );
  }
}
