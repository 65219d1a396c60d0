/**
 * A modern client's `subscriptions/listen` at an endpoint with several backends: one stream to the client, and one to
 * each backend that has something to report.
 */
import type { Origin } from '../catalog/names.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Call, CallRequest, CallSink, ClientFacts } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { onFulfilled } from '../exchange/on-fulfilled.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import { within } from '../exchange/within.ts';
import type { Notification, Request } from '../wire/message.ts';
import {
  changedList,
  filterIn,
  honoured,
  type ListKind,
  listKinds,
  nothingWanted,
  offeredLists,
  type SubscriptionFilter,
} from '../wire/subscription-filter.ts';
import { textMember } from '../wire/values.ts';
import type { HearChange } from './list-change-notifier.ts';
import { acknowledge, ownNotification, withParam } from './notifications.ts';
import type { WatchedSession } from './session-subscription.ts';
import { UpstreamSubscription } from './upstream-subscription.ts';

/** What the subscription needs, handed in by the pipeline. */
export interface SubscriptionSources {
  /** The endpoint's current backends. */
  readonly place: Pick<Endpoint, 'backends'>;
  /** The merged discovery of the endpoint. */
  readonly discovery: Discovery;
  readonly client: ClientFacts;
  readonly clock: Clock;
  readonly limits: { readonly listWaitMs: number };
  /** Reports changes at modern backends, and backends that come and go. */
  hear(hear: HearChange, gone: (backend: string) => void): () => void;
  /** The backend that has the resource, and the resource's URI there. Rejects with a Failure. */
  locate(uri: string): Promise<Origin>;
  isModern(backend: string): Promise<boolean>;
  /** A session of a legacy backend to receive notifications from. */
  watch(backend: string): Promise<WatchedSession>;
  /** Whether the client may read the backend's resource, by the current rules. */
  mayHear(backend: string, uri: string): boolean;
  /** Starts a call to a modern backend. */
  start(backend: string, request: CallRequest, sink: CallSink): Call;
}

/** One backend that reports updates of single resources. */
interface SubscriptionSource {
  subscribe(uri: string): Promise<void>;
  close(): void;
}

export class MergedSubscription implements Call {
  readonly #exchange: Exchange;
  readonly #sources: SubscriptionSources;
  readonly #request: Request;
  readonly #open = new Map<string, Promise<SubscriptionSource>>();
  /** The client's URI of a resource, by backend and the backend's own URI. */
  readonly #addresses = new Map<string, string>();
  readonly #early = new Set<ListKind>();
  #stopHearing: () => void = () => undefined;
  #wanted: SubscriptionFilter = nothingWanted;
  #acknowledged = false;
  #ended = false;

  /** `request` has the filter, which may be less than the client asked for. */
  constructor(exchange: Exchange, sources: SubscriptionSources, request: Request = exchange.request) {
    this.#exchange = exchange;
    this.#sources = sources;
    this.#request = request;
  }

  /** Acknowledges what is really honoured, then reports changes until one side ends it. Rejects with a Failure. */
  async begin(): Promise<void> {
    const asked = filterIn(this.#request);
    if (this.#exchange.settled) return;
    this.#exchange.drivenBy(this);
    const offered = offeredLists(this.#sources.discovery.capabilities);
    this.#wanted = honoured(asked, offered);
    this.#stopHearing = this.#sources.hear(
      (backend, kind) => this.#heard(backend, kind),
      (backend) => this.#gone(backend),
    );
    for (const backend of this.#sources.place.backends) this.#watchLists(backend);
    const uris = await Promise.all(asked.resourceSubscriptions.map((uri) => this.#subscribe(uri)));
    if (this.#ended || this.#exchange.settled) {
      this.cancel();
      return;
    }
    this.#wanted = { ...this.#wanted, resourceSubscriptions: uris.filter((uri) => uri !== undefined) };
    acknowledge(this.#exchange, this.#wanted);
    this.#acknowledged = true;
    for (const kind of this.#early) this.#tellChange(kind);
  }

  cancel(): void {
    this.#ended = true;
    this.#stopHearing();
    for (const backend of this.#open.keys()) this.#gone(backend);
  }

  #heard(backend: string | undefined, kind: ListKind): void {
    // A backend that was away may be back: its subscriptions must be made again.
    for (const name of backend === undefined ? this.#sources.place.backends : [backend])
      if (!this.#open.has(name)) this.#resume(name);
    this.#tellChange(kind);
  }

  #gone(backend: string): void {
    const opening = this.#open.get(backend);
    this.#open.delete(backend);
    if (opening !== undefined) onFulfilled(opening, (source) => source.close());
  }

  #tellChange(kind: ListKind): void {
    if (this.#ended || !this.#wanted[kind.flag]) return;
    if (this.#acknowledged) this.#exchange.sendSubscribed(ownNotification(kind.method, {}));
    else this.#early.add(kind);
  }

  /** A legacy backend reports list changes in a session; those of modern ones come through the `ListChangeNotifier`. */
  #watchLists(backend: string): void {
    if (!listKinds.some(({ flag }) => this.#wanted[flag])) return;
    onFulfilled(this.#sources.isModern(backend), (modern) => {
      if (!modern && !this.#ended) this.#source(backend).catch(() => undefined);
    });
  }

  #resume(backend: string): void {
    this.#watchLists(backend);
    const prefix = keyOf(backend, '');
    for (const key of this.#addresses.keys()) {
      const uri = key.slice(prefix.length);
      if (!key.startsWith(prefix) || !this.#sources.mayHear(backend, uri)) continue;
      onFulfilled(this.#source(backend), (source) => source.subscribe(uri).catch(() => undefined));
    }
  }

  /** The client's URI where the backend accepted in time. */
  async #subscribe(uri: string): Promise<string | undefined> {
    const { clock, limits } = this.#sources;
    const subscribing = this.#subscribeAt(uri).catch(() => undefined);
    return within(clock, limits.listWaitMs, subscribing, () => undefined);
  }

  async #subscribeAt(uri: string): Promise<string> {
    const { backend, name } = await this.#sources.locate(uri);
    // The rules may have changed while it was looked for.
    if (this.#ended || !this.#sources.mayHear(backend, name)) throw new Failure('backend_unavailable');
    const source = await this.#source(backend);
    await source.subscribe(name);
    // Too late for the acknowledgement: the client would not know of this subscription.
    if (this.#acknowledged) throw new Failure('backend_timeout');
    this.#addresses.set(keyOf(backend, name), uri);
    return uri;
  }

  #source(backend: string): Promise<SubscriptionSource> {
    const existing = this.#open.get(backend);
    if (existing !== undefined) return existing;
    const opening = this.#openSource(backend);
    this.#open.set(backend, opening);
    opening.then(
      (source) => {
        if (this.#ended) source.close();
      },
      () => this.#lost(backend, opening),
    );
    return opening;
  }

  /** A new source may have replaced it since. */
  #lost(backend: string, opening: Promise<SubscriptionSource> | undefined): void {
    if (this.#open.get(backend) === opening) this.#open.delete(backend);
  }

  async #openSource(backend: string): Promise<SubscriptionSource> {
    const { client, clock } = this.#sources;
    if (await this.#sources.isModern(backend)) {
      return new UpstreamSubscription(nothingWanted, {
        client,
        clock,
        start: (request, sink) => this.#sources.start(backend, request, sink),
        deliver: (_message, said) => this.#tellUpdate(backend, said),
      });
    }
    const watched = await this.#sources.watch(backend);
    const subscribed = new Set<string>();
    const mine = this.#open.get(backend);
    const stop = watched.hear({
      heard: (notification) => this.#told(backend, notification),
      lost: () => this.#lost(backend, mine),
    });
    return {
      subscribe: async (uri) => {
        await watched.whenHeard();
        if (watched.hearing !== 'heard')
          throw new Failure('backend_unavailable', { message: 'The backend has no event stream at the moment' });
        await watched.subscribe(uri);
        subscribed.add(uri);
      },
      close: () => {
        stop();
        for (const uri of subscribed) watched.unsubscribe(uri);
      },
    };
  }

  #told(backend: string, notification: Notification): void {
    const kind = changedList(notification.method);
    if (kind === undefined) this.#tellUpdate(backend, notification);
    else this.#tellChange(kind);
  }

  #tellUpdate(backend: string, notification: Notification): void {
    if (notification.method !== 'notifications/resources/updated' || !this.#acknowledged) return;
    const own = textMember(notification.bytes, notification.params, 'uri');
    const address = own === undefined ? undefined : this.#addresses.get(keyOf(backend, own));
    // Drop updates for a different client of the same session, and updates of a part of a subscribed resource.
    if (own === undefined || address === undefined || !this.#sources.mayHear(backend, own)) return;
    this.#exchange.sendSubscribed(withParam(notification, 'uri', address));
  }
}

function keyOf(backend: string, uri: string): string {
  return `${backend.length}:${backend}:${uri}`;
}
