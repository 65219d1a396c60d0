/**
 * The state of a legacy client between `initialize` and the end of its session. Bound to one principal and one
 * endpoint.
 */

import { knowsNotification } from '../bridge/revision-compat.ts';
import type { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { ClientFacts, ServerRequest } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import { Changes } from '../exchange/coalesced-changes.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { Inflight } from '../exchange/inflight.ts';
import { onFulfilled } from '../exchange/on-fulfilled.ts';
import type { UpstreamSession } from '../exchange/upstream-session.ts';
import { urgencyOf } from '../exchange/urgency.ts';
import type { Principal } from '../identity/principal.ts';
import type { SubscriptionLimits } from '../subscriptions/limits.ts';
import type { UpstreamSubscription } from '../subscriptions/upstream-subscription.ts';
import { notificationBytes } from '../wire/compose.ts';
import { isWanted } from '../wire/log-level.ts';
import type { Id, Notification } from '../wire/message.ts';
import { changedList, type ListKind } from '../wire/subscription-filter.ts';
import { isOfTask } from '../wire/tasks.ts';
import { type Downstream, questionKey } from './downstream.ts';
import { type ServerRequestLimits, SessionServerRequests } from './open-server-requests.ts';
import { SessionSubscriptions } from './session-subscriptions.ts';
import { SessionTasks } from './session-tasks.ts';
import { SessionUpstreamSink, type UpstreamLost } from './upstream-sink.ts';

export interface SessionFacts {
  readonly id: string;
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  readonly client: ClientFacts;
  /** Absent where the id is not sealed: the session ends with its connection or its process. */
  readonly seal?: SealFacts | undefined;
}

export interface SealFacts {
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
  /** Until when the id opens, likewise. */
  readonly until: number;
  /** How long ago it was issued, in milliseconds. */
  readonly age: number;
  /** Server requests up to this id may have been sent elsewhere: an answer to one of them must not be taken here. */
  readonly asksAfter?: number;
}

export interface SessionQueueLimits extends ServerRequestLimits, SubscriptionLimits {
  /** List changes within this time are reported once. */
  readonly changesMs: number;
}

/** An upstream session, from when it begins to be opened. */
export class SessionUpstream {
  readonly opening: Promise<UpstreamSession>;
  /** Set once it is open. */
  opened: UpstreamSession | undefined = undefined;

  constructor(opening: Promise<UpstreamSession>) {
    this.opening = opening;
    onFulfilled(opening, (upstream) => {
      this.opened = upstream;
    });
  }

  /** At once where it is open, so that what a client sends stays in order. */
  whenOpen(action: (upstream: UpstreamSession) => void): void {
    if (this.opened === undefined) onFulfilled(this.opening, action);
    else action(this.opened);
  }
}

export interface SessionStateKeeper {
  changed(session: Session): void;
}

/** What a session's client may receive from its backends outside of calls. */
export interface SessionFilter {
  /** Why a backend may not send the client a server request; undefined where it may. */
  denyAsk(session: Session, backend: string, ask: ServerRequest): Failure | undefined;
  mayHear(session: Session, backend: string, said: Notification): boolean;
}

export class Session {
  readonly id: string;
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  readonly client: ClientFacts;
  readonly downstream: Downstream;
  readonly inflight = new Inflight();
  /** One upstream session per backend, opened at the latest for the first request that needs it. */
  readonly upstreams = new Map<string, SessionUpstream>();
  readonly openedAt: number;
  /** Undefined where the session cannot be continued elsewhere. */
  readonly seal: SealFacts | undefined;
  /** The client's own `notifications/initialized`, for upstream sessions that are opened later. */
  initialized: Notification | undefined;
  /** The last `logging/setLevel`: nothing below it reaches the client. */
  logLevel: string | undefined;
  /**
   * Rewrites a backend's notification to the client's names, or drops it. Set where the endpoint has several backends.
   */
  translate: ((backend: string, said: Notification) => Notification | undefined) | undefined;
  /** Called when a backend's notifications cannot be received for now. */
  silenced: ((backend: string) => void) | undefined;
  /** What the client may receive. Absent where it may receive everything. */
  filter: SessionFilter | undefined;
  /** For exchanges of this session, when they are settled. */
  readonly settled = (exchange: Exchange): void => {
    this.inflight.remove(exchange);
    this.touch();
    this.onSettled?.();
  };
  /** Where its log level and subscriptions are stored. Absent where it ends with its connection or process. */
  records: SessionStateKeeper | undefined;
  /** Something is stored that the session needs no more when it has ended. */
  hasStoredState = false;
  /** Called whenever an exchange of this session is settled. */
  onSettled: (() => void) | undefined;
  readonly #limits: SessionQueueLimits;
  readonly #clock: Clock;
  // Created when they are needed: most sessions need none of them, and there may be thousands of idle sessions.
  #asks: SessionServerRequests | undefined;
  #listenings: Map<string, UpstreamSubscription> | undefined;
  #subscriptions: SessionSubscriptions | undefined;
  #tasks: SessionTasks | undefined;
  #changes: Changes<string, Uint8Array> | undefined;
  #endings: (() => void)[] | undefined;
  #lastSeen: number;
  #ended = false;

  constructor(facts: SessionFacts, downstream: Downstream, limits: SessionQueueLimits, clock: Clock) {
    this.id = facts.id;
    this.principal = facts.principal;
    this.endpoint = facts.endpoint;
    this.client = facts.client;
    this.downstream = downstream;
    this.#limits = limits;
    this.#clock = clock;
    this.openedAt = clock.now() - (facts.seal?.age ?? 0);
    this.seal = facts.seal;
    this.#lastSeen = clock.now();
  }

  get ended(): boolean {
    return this.#ended;
  }

  get asks(): SessionServerRequests {
    this.#asks ??= new SessionServerRequests(this.client, this.#limits, this.#clock, this.seal?.asksAfter);
    return this.#asks;
  }

  /** How many server requests the client has not answered yet. */
  get asking(): number {
    return this.#asks?.size ?? 0;
  }

  /** The client's subscriptions at modern backends. */
  get listenings(): Map<string, UpstreamSubscription> {
    this.#listenings ??= new Map();
    return this.#listenings;
  }

  get subscriptions(): SessionSubscriptions {
    this.#subscriptions ??= new SessionSubscriptions(this.#limits);
    return this.#subscriptions;
  }

  get tasks(): SessionTasks {
    this.#tasks ??= new SessionTasks();
    return this.#tasks;
  }

  /** `action` is called once, when the session ends. */
  onEnd(action: () => void): void {
    this.#endings ??= [];
    this.#endings.push(action);
  }

  touch(): void {
    this.#lastSeen = this.#clock.now();
  }

  /** Time of the last activity. A session with a request in flight, or with an open connection, is not idle. */
  idleSince(): number {
    if (this.inflight.size > 0 || this.downstream.connected) this.touch();
    return this.#lastSeen;
  }

  /** Receives what a backend sends outside of calls. `openedAt`: when its upstream session was asked for. */
  upstreamSink(backend: string, openedAt: number, lost: UpstreamLost): SessionUpstreamSink {
    return new SessionUpstreamSink(this, backend, openedAt, lost);
  }

  /** Whether a server request outside of calls can reach the client now. */
  get isReachable(): boolean {
    return this.downstream.listens || this.#carrier() !== undefined;
  }

  /**
   * Sends a server request, or its cancellation, to the client. A client that has opened no stream with GET still reads
   * the responses to its requests: one of those streams carries it. If there is none, it waits until the client opens
   * one.
   */
  put(message: Uint8Array): void {
    const carrier = this.downstream.listens ? undefined : this.#carrier();
    if (carrier === undefined) this.downstream.deliver(message, 'keep', questionKey);
    else carrier.send(message, 'keep');
  }

  /**
   * A request in flight whose response stream can carry more messages; preferably one that may cause server requests.
   */
  #carrier(): Exchange | undefined {
    const carrying = this.inflight.all().filter((exchange) => exchange.carries);
    return carrying.find(({ row }) => row.mayAsk === true) ?? carrying[0];
  }

  /** A backend's notification in the client's names; undefined where it is not passed on. */
  translated(backend: string, said: Notification): Notification | undefined {
    const own = isOfTask(said) ? this.tasks.translate(backend, said) : said;
    return own === undefined || this.translate === undefined ? own : this.translate(backend, own);
  }

  /** A backend's server request in the client's names. */
  named(backend: string, ask: ServerRequest): ServerRequest {
    return isOfTask(ask.message) ? this.tasks.ask(backend, ask) : ask;
  }

  /** Delivers progress of a task outside of the call that made it. */
  tellProgress(backend: string, said: Notification): void {
    const progress = this.tasks.progress(backend, said);
    if (progress === undefined) return;
    const carrier = this.downstream.listens ? undefined : this.#carrier();
    if (carrier === undefined) this.downstream.deliver(progress.message, 'progress', progress.key);
    else carrier.send(progress.message, 'progress', progress.key);
  }

  /** Delivers a notification outside of requests. Repeated list changes are coalesced. */
  tell(message: Uint8Array, notification: Notification): void {
    if (this.#ended) return;
    if (changedList(notification.method) === undefined) this.downstream.deliver(message, urgencyOf(notification));
    else this.#changed(notification.method, message);
  }

  /** Reports a changed list. */
  tellChanged({ method }: ListKind): void {
    if (!this.#ended) this.#changed(method, notificationBytes(method));
  }

  /** Reports a resource that may have changed, in the client's name. */
  tellUpdated(uri: string): void {
    const method = 'notifications/resources/updated';
    if (!this.#ended) this.downstream.deliver(notificationBytes(method, JSON.stringify({ uri })), 'keep');
  }

  #changed(method: string, message: Uint8Array): void {
    this.#changes ??= new Changes(this.#clock, this.#limits.changesMs, (kind, news) =>
      this.downstream.deliver(news, 'keep', kind),
    );
    this.#changes.changed(method, message);
  }

  /** Whether the client's log level admits it, and the client's revision has it. */
  hears(notification: Notification): boolean {
    return isWanted(notification, this.logLevel) && knowsNotification(this.client.revision, notification.method);
  }

  cancel(id: Id, reason: string | undefined): void {
    this.inflight.only(id)?.cancel(reason);
  }

  /**
   * Cancels all calls of the client upstream, and answers its requests with an error: the client did not cancel them,
   * and must not wait forever. `isContinued`: the session goes on elsewhere.
   */
  end(failure: Failure, isContinued = false): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const exchange of this.inflight.all()) exchange.abort(failure);
    this.#asks?.abandon(failure);
    for (const { opening } of this.upstreams.values()) onFulfilled(opening, (upstream) => upstream.close());
    this.upstreams.clear();
    this.#changes?.close();
    this.#subscriptions?.clear();
    for (const listening of this.#listenings?.values() ?? []) listening.close();
    for (const action of this.#endings ?? []) action();
    this.downstream.close(isContinued);
  }
}
