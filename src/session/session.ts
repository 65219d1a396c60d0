/**
 * What a legacy client and the gateway remember of each other between `initialize` and the end. Bound to one principal and
 * one endpoint.
 */

import { knowsNotification } from '../bridge/revision-compat.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { ClientFacts, ServerRequest } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { Changes } from '../exchange/coalesced-changes.ts';
import { type Exchange, Inflight } from '../exchange/exchange.ts';
import type { UpstreamSession, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import { urgencyOf } from '../exchange/urgency.ts';
import type { Principal } from '../identity/principal.ts';
import type { SubscriptionLimits } from '../subscriptions/limits.ts';
import type { UpstreamSubscription } from '../subscriptions/upstream-subscription.ts';
import { forwarded, notificationBytes } from '../wire/compose.ts';
import { isWanted } from '../wire/log-level.ts';
import type { Id, Notification, Response } from '../wire/message.ts';
import { changedList, type ListKind } from '../wire/subscription-filter.ts';
import { type Downstream, questionKey } from './downstream.ts';
import { type AskLimits, Asks } from './open-server-requests.ts';
import { SessionSubscriptions } from './session-subscriptions.ts';

export interface SessionFacts {
  readonly id: string;
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  readonly client: ClientFacts;
}

export interface SessionQueueLimits extends AskLimits, SubscriptionLimits {
  /** Changes of a list that come within so long are told once. */
  readonly changesMs: number;
}

export class Session {
  readonly id: string;
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  readonly client: ClientFacts;
  readonly downstream: Downstream;
  readonly asks: Asks;
  readonly inflight = new Inflight();
  /** One lane a backend, opened at the latest when the first request needs it. */
  readonly upstreams = new Map<string, Promise<UpstreamSession>>();
  /** What the client wants to hear of from backends of the other era. */
  readonly listenings = new Map<string, UpstreamSubscription>();
  readonly subscriptions: SessionSubscriptions;
  readonly openedAt: number;
  /** The client's own `notifications/initialized`, to be told to lanes that are opened later. */
  initialized: Notification | undefined;
  /** What `logging/setLevel` said last: nothing below it reaches the client. */
  logLevel: string | undefined;
  /** What to pass on of what a backend said, in the client's names: set where several stand behind the endpoint. */
  translate: ((backend: string, said: Notification) => Notification | undefined) | undefined;
  /** What a backend says is not heard for now. */
  silenced: ((backend: string) => void) | undefined;
  /** Why a backend may not ask the client something; undefined where it may. Absent where every backend may. */
  denyAsk: ((backend: string, ask: ServerRequest) => Failure | undefined) | undefined;
  /** Whether the client may hear something. Absent where it may hear everything. */
  mayHear: ((backend: string, said: Notification) => boolean) | undefined;
  readonly #clock: Clock;
  readonly #changes: Changes<string, Uint8Array>;
  readonly #endings: (() => void)[] = [];
  #lastSeen: number;
  #ended = false;

  constructor(facts: SessionFacts, downstream: Downstream, limits: SessionQueueLimits, clock: Clock) {
    this.id = facts.id;
    this.principal = facts.principal;
    this.endpoint = facts.endpoint;
    this.client = facts.client;
    this.downstream = downstream;
    this.asks = new Asks(facts.client, limits, clock);
    this.subscriptions = new SessionSubscriptions(limits);
    this.#changes = new Changes(clock, limits.changesMs, (method, message) =>
      this.downstream.deliver(message, 'keep', method),
    );
    this.#clock = clock;
    this.openedAt = clock.now();
    this.#lastSeen = this.openedAt;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Called once, when the session ends. */
  onEnd(action: () => void): void {
    this.#endings.push(action);
  }

  touch(): void {
    this.#lastSeen = this.#clock.now();
  }

  /** Since when nothing has happened. A session with work in flight, or with somebody reading, is not idle. */
  idleSince(): number {
    if (this.inflight.size > 0 || this.downstream.connected) this.touch();
    return this.#lastSeen;
  }

  /** Hears what a backend says outside any call. */
  upstreamSink(backend: string, lost: (failure: Failure) => void): UpstreamSessionSink {
    return {
      notify: (said: Notification) => {
        const notification = this.translate === undefined ? said : this.translate(backend, said);
        if (notification === undefined || this.#ended || !this.hears(notification)) return;
        if (this.mayHear?.(backend, notification) === false) return;
        this.tell(forwarded(notification), notification);
      },
      ask: (ask: ServerRequest) => {
        const failure = this.#ended ? new Failure('ask_not_supported') : this.denyAsk?.(backend, ask);
        if (failure !== undefined) ask.answer({ failure });
        else this.asks.relay(ask, (message) => this.put(message));
      },
      lost,
      silenced: () => this.silenced?.(backend),
    };
  }

  /** Whether a question that belongs to no request in particular has a way to the client now. */
  get isReachable(): boolean {
    return this.downstream.listens || this.#carrier() !== undefined;
  }

  /**
   * Puts a question, or its withdrawal, to the client. A client that has not opened a stream with GET is reading the answers
   * to its requests: one of those streams carries it. Where there is none it waits for the client to open one.
   */
  put(message: Uint8Array): void {
    const carrier = this.downstream.listens ? undefined : this.#carrier();
    if (carrier === undefined) this.downstream.deliver(message, 'keep', questionKey);
    else carrier.send(message, 'keep');
  }

  /** A request whose answer can carry more; rather one from which a backend may ask. */
  #carrier(): Exchange | undefined {
    const carrying = this.inflight.all().filter((exchange) => exchange.carries);
    return carrying.find(({ row }) => row.mayAsk === true) ?? carrying[0];
  }

  /** Delivers what belongs to no request of the client. A list that changes again and again is told of once in a while. */
  tell(message: Uint8Array, notification: Notification): void {
    if (this.#ended) return;
    if (changedList(notification.method) === undefined) this.downstream.deliver(message, urgencyOf(notification));
    else this.#changes.changed(notification.method, message);
  }

  /** A list is another than before. */
  tellChanged({ method }: ListKind): void {
    if (!this.#ended) this.#changes.changed(method, notificationBytes(method));
  }

  /** Whether the client wants it, and its revision has such a thing. */
  hears(notification: Notification): boolean {
    return isWanted(notification, this.logLevel) && knowsNotification(this.client.revision, notification.method);
  }

  /** The client's answer to an ask. One that nobody waits for is dropped. */
  answer(response: Response): boolean {
    return this.asks.answer(response);
  }

  cancel(id: Id, reason: string | undefined): void {
    this.inflight.only(id)?.cancel(reason);
  }

  /** Everything that ran for the client is cancelled upstream, and answered with an error: its callers did not cancel and must not wait for ever. */
  end(failure: Failure): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const exchange of this.inflight.all()) exchange.abort(failure);
    this.asks.abandon(failure);
    for (const opening of this.upstreams.values()) {
      opening.then(
        (upstream) => upstream.close(),
        () => undefined,
      );
    }
    this.upstreams.clear();
    this.#changes.close();
    this.subscriptions.clear();
    for (const listening of this.listenings.values()) listening.close();
    for (const action of this.#endings) action();
    this.downstream.close();
  }
}
