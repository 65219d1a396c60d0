/** Open `subscriptions/listen` requests of modern clients: their number is limited, and they outlive their config. */
import { isMerged } from '../catalog/name-resolver.ts';
import { callStateless, readerFor } from '../catalog/readers.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Principal } from '../identity/principal.ts';
import { systemPermit } from '../policy/permit.ts';
import { checkListen } from '../subscriptions/limits.ts';
import { ListenSlots } from '../subscriptions/listen-slots.ts';
import { MergedSubscription, type SubscriptionSources } from '../subscriptions/merged-subscription.ts';
import { ownNotification } from '../subscriptions/notifications.ts';
import { type ListKind, readFilter } from '../wire/subscription-filter.ts';
import { asAuthorizationRequest } from './authorize.ts';
import { authorizeListen, type ListenAuthorization } from './authorize-listen.ts';
import type { ConfigChange } from './config-change.ts';
import type { ConnectionState } from './connection-state.ts';
import type { RequestContext } from './context.ts';
import { outlived } from './credential-expiry.ts';
import { hearsOf } from './interceptors/response-filter.ts';
import { discoverAll } from './merged.ts';
import type { SharedServices } from './services.ts';

interface OpenListen {
  readonly connection: ConnectionState | undefined;
  readonly principal: Principal;
  readonly place: Endpoint;
  /** Set where one backend alone stands behind the endpoint. */
  readonly backend: string | undefined;
}

/** A `subscriptions/listen` whose slot is reserved. */
export interface Listen {
  /** Absent where there is no policy, rate limit or audit. */
  readonly authorization: ListenAuthorization | undefined;
  /** Frees its slot under `limits.listenStreams`. */
  readonly release: () => void;
}

export class ModernListens {
  readonly #shared: SharedServices;
  readonly #open = new Map<Exchange, OpenListen>();
  readonly #slots: ListenSlots;

  constructor(shared: SharedServices) {
    this.#shared = shared;
    this.#slots = new ListenSlots(shared.limits.listenStreams);
  }

  /** Reserves the slot before awaiting, so that concurrent requests cannot all pass the limit check. */
  async admit(context: RequestContext, begin: (listen: Listen) => boolean): Promise<void> {
    const { principal, authorizer, client } = context;
    checkListen(context.request, this.#shared.limits);
    const reader = () => readerFor(this.#shared.upstreams, principal, client);
    const release = this.#slots.take(principal);
    let isOpen = false;
    try {
      const authorization = authorizer.isOpen ? undefined : await authorizeListen(this.#shared, context, reader);
      isOpen = begin({ authorization, release });
    } finally {
      if (!isOpen) release();
    }
  }

  opened({ principal, endpoint, connection }: RequestContext, exchange: Exchange): void {
    const backend = isMerged(endpoint) ? undefined : endpoint.backends[0];
    const place = this.#shared.currentGeneration.place(endpoint);
    exchange.coalesceChanges(this.#shared.clock, this.#shared.limits.changesMs);
    this.#open.set(exchange, { connection, principal, place, backend });
  }

  closed(exchange: Exchange): void {
    this.#open.delete(exchange);
  }

  /** A clean end for every open subscription. */
  endAll(): void {
    for (const [exchange, { connection }] of [...this.#open]) exchange.endSubscription(connection !== undefined);
  }

  /**
   * A stream from one backend cannot become one from several, or from a different one: it ends, and its client listens
   * again.
   */
  renewed({ gone, closed, lists, isWelcome }: ConfigChange): void {
    for (const [exchange, { connection, principal, place, backend }] of [...this.#open]) {
      const { path } = place;
      const isOther = backend !== undefined && (gone.has(backend) || isMerged(place) || place.backends[0] !== backend);
      if (connection?.via !== 'stdio' && !closed.has(path) && !isWelcome(path, principal)) {
        exchange.abort(outlived(principal));
        continue;
      }
      if (backend !== undefined) tellChanges(exchange, lists.get(path) ?? []);
      if (isOther || closed.has(path)) exchange.endSubscription(connection !== undefined);
    }
  }

  /** One stream to the client for all backends behind the endpoint. */
  async merge(context: RequestContext, listen: ListenAuthorization | undefined): Promise<void> {
    const { endpoint, exchange, principal, client, authorizer } = context;
    const { upstreams, listChanges, nameResolver, clock, limits, currentGeneration } = this.#shared;
    const reader = readerFor(upstreams, principal, client);
    const place = currentGeneration.place(endpoint);
    const first = listen?.permit ?? authorizer.ask(asAuthorizationRequest(context, context.row, '')).permit;
    // The stream outlives its config. What it opens later follows from what was allowed, and each resource is
    // authorized again.
    const permit = () =>
      currentGeneration.now.authorizer === authorizer || !exchange.begun ? first : systemPermit('stream');
    const sources: SubscriptionSources = {
      place,
      discovery: await discoverAll(this.#shared, endpoint, principal),
      client,
      clock,
      limits,
      hear: (hear, gone) => listChanges.hear(place, principal, hear, gone),
      locate: async (uri) => nameResolver.locate(endpoint, uri, reader),
      isModern: async (backend) => (await upstreams.discover(backend, principal)).eras.includes('modern'),
      mayHear: (backend, name) => {
        // Rules speak of resources by the addresses that the endpoint lists.
        const uri = nameResolver.addressOf(place, { backend, name }, reader);
        return hearsOf({ authorizer: currentGeneration.now.authorizer, principal, endpoint: place, backend }, uri);
      },
      watch: (backend) => upstreams.watch(permit(), backend, principal, client),
      start: (backend, next, sink) => callStateless(upstreams.stateless(backend, principal), permit(), next, sink),
    };
    await new MergedSubscription(exchange, sources, listen?.message).begin();
  }
}

/** Sends nothing before the acknowledgement, and only the kinds that the client asked for. */
function tellChanges(exchange: Exchange, kinds: readonly ListKind[]): void {
  const wanted = exchange.begun ? readFilter(exchange.request) : undefined;
  for (const { flag, method } of kinds) {
    if (wanted?.[flag] === true) exchange.sendSubscribed(ownNotification(method, {}));
  }
}
