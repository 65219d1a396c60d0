/**
 * The resources that a legacy session subscribed to, by the client's URI of each. They are kept until the client
 * unsubscribes or the session ends, so their number and bytes are limited.
 */
import type { Origin } from '../catalog/names.ts';
import { checkUri, type SubscriptionLimits, tooManyBytes, tooManySubscriptions } from '../subscriptions/limits.ts';

interface SubscribedEntry extends Origin {
  readonly bytes: number;
  /** The backend has answered with a result. */
  isAgreed: boolean;
  /** Requests for it that are not over. */
  asked: number;
}

export class SessionSubscriptions {
  readonly #limits: SubscriptionLimits;
  /** Created for the first one. */
  #entries: Map<string, SubscribedEntry> | undefined;
  #bytes = 0;

  constructor(limits: SubscriptionLimits) {
    this.#limits = limits;
  }

  /**
   * Reserves the entry before the backend is asked, because the first update may come with its response. Returns what
   * to call when the request is over: a subscription that the backend refused is removed. Throws at the limit.
   */
  reserve(address: string, { backend, name }: Origin): (isAgreed: boolean) => void {
    this.#entries ??= new Map();
    const known = this.#entries.get(address);
    if (known !== undefined) return this.#asked(address, known);
    const { subscriptionsPerClient, subscriptionBytesPerClient } = this.#limits;
    const bytes = checkUri(address);
    if (this.#entries.size >= subscriptionsPerClient) throw tooManySubscriptions(this.#limits);
    if (this.#bytes + bytes > subscriptionBytesPerClient) throw tooManyBytes(this.#limits);
    const entry: SubscribedEntry = { backend, name, bytes, isAgreed: false, asked: 0 };
    this.#entries.set(address, entry);
    this.#bytes += bytes;
    return this.#asked(address, entry);
  }

  /** The entry stays while one of its requests may still be accepted. */
  #asked(address: string, entry: SubscribedEntry): (isAgreed: boolean) => void {
    entry.asked += 1;
    return (isAgreed) => {
      entry.asked -= 1;
      entry.isAgreed ||= isAgreed;
      if (!entry.isAgreed && entry.asked === 0 && this.#entries?.get(address) === entry) this.remove(address);
    };
  }

  remove(address: string): void {
    this.#bytes -= this.#entries?.get(address)?.bytes ?? 0;
    this.#entries?.delete(address);
  }

  /** Removes the subscriptions at a backend that is gone. */
  removeAt(backend: string): void {
    for (const [address, entry] of this.#entries ?? []) if (entry.backend === backend) this.remove(address);
  }

  backendOf(address: string): string | undefined {
    return this.#entries?.get(address)?.backend;
  }

  /** The subscriptions that were accepted, in the client's names. */
  get addresses(): readonly string[] {
    return [...(this.#entries ?? [])].filter(([, { isAgreed }]) => isAgreed).map(([address]) => address);
  }

  /** The subscriptions that the backend accepted, in its own names. */
  at(backend: string): readonly string[] {
    return [...(this.#entries?.values() ?? [])]
      .filter((entry) => entry.backend === backend && entry.isAgreed)
      .map(({ name }) => name);
  }

  clear(): void {
    this.#entries = undefined;
    this.#bytes = 0;
  }
}
