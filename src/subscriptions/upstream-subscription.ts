/**
 * Subscriptions of a legacy session at a modern backend: one `subscriptions/listen` upstream with everything that the
 * session wants. When that changes, a new stream is opened, and the old one is closed once the new one is acknowledged,
 * so that nothing is missed.
 */
import { Failure } from '../errors/failure.ts';
import type { Call, CallRequest, CallSink, ClientFacts } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { ownRequest } from '../exchange/own-call.ts';
import { notificationBytes, rewrite } from '../wire/compose.ts';
import type { Notification } from '../wire/message.ts';
import { admits, filterOf, isEmpty, readFilter, type SubscriptionFilter } from '../wire/subscription-filter.ts';
import { metaKeys } from '../wire/vocabulary.ts';

/** Pauses before a broken stream is opened again; the last one repeats. */
const RETRY_MS = [500, 2_000, 10_000, 30_000] as const;

/** A stream that was open this long, and was not ended for flooding, counts as working. */
const STEADY_MS = 10_000;

const acknowledged = 'notifications/subscriptions/acknowledged';
const { subscriptionId } = metaKeys;

export interface UpstreamSubscriptionOptions {
  readonly client: ClientFacts;
  readonly clock: Clock;
  start(request: CallRequest, sink: CallSink): Call;
  /** Delivers to the client: `message` in the form of the client's era, `said` as the backend sent it. */
  deliver(message: Uint8Array, said: Notification): void;
  /** The stream is acknowledged, possibly after a gap whose changes were missed. */
  opened?(): void;
}

/** One stream upstream. */
interface OpenSubscription {
  readonly wanted: SubscriptionFilter;
  call: Call | undefined;
  acknowledged: boolean;
  acknowledgedAt: number;
  /** Resolves for those who wait for the acknowledgement. */
  agree(agreed: SubscriptionFilter): void;
  /** Rejects for them: no acknowledgement will come. */
  giveUp(failure: Failure): void;
}

export class UpstreamSubscription {
  readonly #options: UpstreamSubscriptionOptions;
  #wanted: SubscriptionFilter;
  #current: OpenSubscription | undefined;
  /** All streams that are open upstream: the current one, and older ones until it is acknowledged. */
  readonly #standing = new Set<OpenSubscription>();
  #opening: Promise<SubscriptionFilter> | undefined;
  #failures = 0;
  /** The last stream was ended for flooding, so an acknowledgement of the next one does not prove that it will last. */
  #flooded = false;
  #stopWaiting: (() => void) | undefined;
  #closed = false;

  /** `lists`: the filter to start with. */
  constructor(lists: SubscriptionFilter, options: UpstreamSubscriptionOptions) {
    this.#options = options;
    this.#wanted = lists;
    if (!isEmpty(lists)) this.#open().catch(() => undefined);
  }

  /** Resolves when the backend has accepted the subscription. Rejects with a Failure. */
  async subscribe(uri: string): Promise<void> {
    if (this.#closed) throw new Failure('backend_unavailable', { message: 'The subscription was ended' });
    if (this.#current?.acknowledged === true && this.#current.wanted.resourceSubscriptions.includes(uri)) return;
    this.#want([...new Set([...this.#wanted.resourceSubscriptions, uri])]);
    try {
      const agreed = await this.#openSoon();
      if (agreed.resourceSubscriptions.includes(uri)) return;
    } catch (failure) {
      this.#forget(uri);
      throw failure;
    }
    this.#forget(uri);
    throw new Failure('resource_not_found', {
      message: 'The backend does not support a subscription to this resource',
      data: { uri },
    });
  }

  unsubscribe(uri: string): void {
    if (!this.#wanted.resourceSubscriptions.includes(uri)) return;
    this.#forget(uri);
    if (isEmpty(this.#wanted)) this.#leave();
    else this.#open().catch(() => undefined);
  }

  close(): void {
    this.#closed = true;
    this.#stopWaiting?.();
    this.#leave();
  }

  #forget(uri: string): void {
    this.#want(this.#wanted.resourceSubscriptions.filter((other) => other !== uri));
  }

  #want(resourceSubscriptions: readonly string[]): void {
    this.#wanted = { ...this.#wanted, resourceSubscriptions };
  }

  /** Subscriptions made together go into one request. */
  #openSoon(): Promise<SubscriptionFilter> {
    this.#opening ??= new Promise((resolve, reject) => {
      this.#options.clock.soon(() => {
        this.#opening = undefined;
        if (this.#closed) reject(new Failure('backend_unavailable', { message: 'The subscription was ended' }));
        else resolve(this.#open());
      });
    });
    return this.#opening;
  }

  #leave(): void {
    this.#current = undefined;
    this.#end([...this.#standing]);
  }

  /** Callers that wait for the acknowledgement of an ended stream get that of the newer one, or a failure. */
  #end(standings: readonly OpenSubscription[], agreed?: SubscriptionFilter): void {
    for (const standing of standings) {
      this.#standing.delete(standing);
      standing.call?.cancel();
      if (agreed !== undefined) standing.agree(agreed);
      standing.giveUp(new Failure('backend_unavailable', { message: 'The subscription was ended' }));
    }
  }

  /** Resolves with the filter that the backend accepted. */
  #open(): Promise<SubscriptionFilter> {
    return new Promise((resolve, reject) => {
      const standing: OpenSubscription = {
        wanted: this.#wanted,
        call: undefined,
        acknowledged: false,
        acknowledgedAt: Number.POSITIVE_INFINITY,
        agree: resolve,
        giveUp: reject,
      };
      const older = [...this.#standing];
      this.#standing.add(standing);
      this.#current = standing;
      const request = ownRequest(
        'subscriptions/listen',
        { notifications: filterOf(standing.wanted) },
        this.#options.client,
      );
      standing.call = this.#options.start(request, {
        notify: (notification) => {
          if (notification.method !== acknowledged) this.#heard(standing, notification);
          else {
            standing.acknowledged = true;
            standing.acknowledgedAt = this.#options.clock.now();
            if (!this.#flooded) this.#failures = 0;
            const agreed = readFilter(notification) ?? standing.wanted;
            // The newer stream wants everything that the older ones do.
            this.#end(
              older.filter((other) => this.#standing.has(other)),
              agreed,
            );
            this.#options.opened?.();
            resolve(agreed);
          }
        },
        ask: (ask) => ask.answer({ failure: new Failure('ask_not_supported') }),
        pause: () => undefined,
        settle: (outcome) => {
          this.#standing.delete(standing);
          const failure = outcome.kind === 'failure' ? outcome.failure : new Failure('backend_unavailable');
          this.#flooded = failure.reason === 'backend_flooding';
          const stoodMs = this.#options.clock.now() - standing.acknowledgedAt;
          if (!this.#flooded && stoodMs >= STEADY_MS) this.#failures = 0;
          reject(failure);
          if (this.#current === standing) this.#later();
        },
      });
    });
  }

  /** The stream broke, or the backend ended it; the session still wants it. */
  #later(): void {
    if (this.#closed) return;
    const wait = RETRY_MS[Math.min(this.#failures, RETRY_MS.length - 1)] as number;
    this.#failures += 1;
    this.#stopWaiting = this.#options.clock.after(wait, () => {
      if (!this.#closed && !isEmpty(this.#wanted)) this.#open().catch(() => undefined);
    });
  }

  #heard(standing: OpenSubscription, notification: Notification): void {
    // Of two open streams only the newer one delivers, as soon as it is acknowledged.
    const speaks = standing === this.#current || this.#current?.acknowledged === false;
    if (speaks && admits(this.#wanted, notification)) this.#options.deliver(untagged(notification), notification);
  }
}

/** The notification without the subscription id, which the client does not know. */
export function untagged(notification: Notification): Uint8Array {
  const { bytes, params, meta, method } = notification;
  if (params === undefined || meta === undefined) return bytes;
  const others = meta.members.some(({ key }) => key !== subscriptionId);
  const rewritten = others
    ? rewrite(bytes, params, { set: { _meta: rewrite(bytes, meta, { drop: (key) => key === subscriptionId }) } })
    : rewrite(bytes, params, { drop: (key) => key === '_meta' });
  return notificationBytes(method, rewritten);
}
