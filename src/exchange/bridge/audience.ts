/** Modern clients that watch one upstream session of a legacy backend. What is subscribed there is counted, so that one leaving does not silence the others. */
import type { Failure } from '../../errors.ts';
import type { Permit } from '../../policy/permit.ts';
import type { Notification } from '../../wire/message.ts';
import type { Lane } from '../lane.ts';
import { callOnce } from '../own-call.ts';
import { subscribeRequest, type Watched } from './watching.ts';

interface Listener {
  readonly heard: (notification: Notification) => void;
  readonly lost: (failure: Failure) => void;
}

interface Subscription {
  watchers: number;
  readonly agreed: Promise<unknown>;
}

export class Audience {
  readonly #listeners = new Set<Listener>();
  readonly #subscriptions = new Map<string, Subscription>();

  get size(): number {
    return this.#listeners.size;
  }

  notify(notification: Notification): void {
    for (const { heard } of this.#listeners) heard(notification);
  }

  lost(failure: Failure): void {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    this.#subscriptions.clear();
    for (const { lost } of listeners) lost(failure);
  }

  /** The session as one more watcher sees it. */
  watch(lane: Lane, permit: Permit): Watched {
    return {
      discovery: lane.discovery,
      subscribe: (uri) => this.#subscribe(lane, permit, uri),
      unsubscribe: (uri) => this.#unsubscribe(lane, permit, uri),
      hear: (heard, lost) => {
        const listener = { heard, lost };
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
  }

  async #subscribe(lane: Lane, permit: Permit, uri: string): Promise<void> {
    const existing = this.#subscriptions.get(uri);
    const subscription = existing ?? {
      watchers: 0,
      agreed: callOnce((sink) => lane.call(permit, subscribeRequest('resources/subscribe', uri), sink)),
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

  #unsubscribe(lane: Lane, permit: Permit, uri: string): void {
    const subscription = this.#subscriptions.get(uri);
    if (subscription === undefined) return;
    subscription.watchers -= 1;
    if (subscription.watchers > 0) return;
    this.#subscriptions.delete(uri);
    // Whether the backend agrees changes nothing for anybody here.
    callOnce((sink) => lane.call(permit, subscribeRequest('resources/unsubscribe', uri), sink)).catch(() => undefined);
  }
}
